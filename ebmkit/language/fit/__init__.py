"""Checks that the components of a spec fit together. Each misfit names both places."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Init, Metric, Noise, Objective, Sampler
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.chains import chain_misfits, start_misfits
from ebmkit.language.fit.counts import count_misfits
from ebmkit.language.fit.metrics import expectation_misfits, metric_misfits, stop_misfits
from ebmkit.language.fit.places import Places, event_of
from ebmkit.language.fit.refusals import refusal_misfits
from ebmkit.language.fit.scale import scale_misfits
from ebmkit.language.fit.stages import idle_objective, part_misfits, seen_from
from ebmkit.language.fit.states import data_misfits, idle_misfits, section_misfits, shape_misfits
from ebmkit.language.fit.training import (
    ability_misfits,
    model_misfits,
    noise_misfits,
    noise_shape_misfits,
    objective_misfits,
    schedule_misfits,
    space_misfits,
    wrapper_misfits,
)
from ebmkit.language.fit.traits import trait_misfits
from ebmkit.registry.registry import Registry

__all__ = ["event_of", "misfits"]


def misfits(checked: Checked, registry: Registry, *, idle: bool = False) -> Iterator[EbmkitError]:
    """Everything that cannot work, found before building; a spec with nothing to do is included unless `idle`."""
    here = Places(checked, registry)
    fits = True
    for misfit in _uncounted(checked, here, idle=idle):
        fits = False
        yield misfit
    if fits:  # what does not fit together cannot be counted
        yield from count_misfits(checked, here)


def _uncounted(checked: Checked, here: Places, *, idle: bool) -> Iterator[EbmkitError]:
    """Everything that does not depend on numbers of parameters and bytes."""
    unreadable = list(data_misfits(checked, here))
    yield from unreadable
    yield from section_misfits(checked, here)
    if not idle:
        yield from idle_misfits(checked, here)
    nameless = list(trait_misfits(checked, here))
    yield from nameless
    if unreadable or nameless:
        return  # the rest depends on the shape of a state, and on what components offer and need
    yield from shape_misfits(checked, here)
    if absent := list(part_misfits(checked, here)):
        yield from absent
        return  # what an objective has to fit is not known
    yield from idle_objective(checked, here)
    yield from model_misfits(checked, here)
    yield from scale_misfits(checked, here)
    for path, component in walk(checked.spec):
        for seen in seen_from(path, checked):
            yield from _component_misfits(path, component, seen, here)
    yield from refusal_misfits(checked, here)
    yield from objective_misfits(checked, here)
    yield from chain_misfits(checked, here)
    yield from metric_misfits(checked, here)
    yield from stop_misfits(checked, here)
    yield from expectation_misfits(checked, here)


def _component_misfits(path: Path, component: Component, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Does a component fit the model that it is used with?"""
    if isinstance(component, Sampler) and (inner := component.inner()):
        yield from wrapper_misfits(path, component, inner, checked, here)
        return  # the rest follows from the sampler inside, which is checked itself
    if isinstance(component, (Sampler, Objective)):
        yield from ability_misfits(path, component, checked, here)
        yield from schedule_misfits(path, component, checked, here)
    if isinstance(component, (Sampler, Objective, Noise, Metric)):
        yield from space_misfits(path, component, checked, here)
    if isinstance(component, Noise):
        yield from noise_shape_misfits(path, component, checked, here)
        yield from noise_misfits(path, component, checked, here)
    if isinstance(component, Init):
        yield from start_misfits(path, component, checked, here)
