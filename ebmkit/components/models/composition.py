"""Checks and traits of models that are composed of others. Without torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

#: Abilities of a composition that need no normaliser, each with those that every part needs for it.
ENERGY_AND_GRADIENT = {"energy": frozenset({"energy"}), "gradient": frozenset({"gradient"})}

#: Maximum number of models in a composition, nested ones included: nested shared parts multiply in a few lines.
MOST = 1000


def check_parts(parts: Sequence[Model]) -> None:
    """Raise a ValueError if the parts do not fit together."""
    if len(list(islice(_inside(parts), MOST + 1))) > MOST:
        raise ValueError(f"there are more than {MOST} models, counting those inside compositions")
    _check(parts)


def composed_traits(parts: Sequence[Model], passed_on: Mapping[str, frozenset[str]]) -> ModelTraits:
    """Traits of the composition. `passed_on` maps an ability of it to those that every part needs for it."""
    traits = [part.traits() for part in parts]
    common = frozenset.intersection(*(each.offers for each in traits))
    offers = frozenset(ability for ability, needed in passed_on.items() if needed <= common)
    smooth, own_units = all(each.smooth for each in traits), any(each.own_units for each in traits)
    rate = min(each.learning_rate for each in traits)
    return ModelTraits(traits[0].space, offers, smooth=smooth, own_units=own_units, learning_rate=rate)


def _inside(value: Any) -> Iterator[Model]:
    """All models in a parameter, recursively, each as often as it is built."""
    if isinstance(value, Model):
        yield value
        for field in dataclasses.fields(value):  # type: ignore[arg-type]  # every component is a dataclass
            yield from _inside(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _inside(item)


def _check(parts: Sequence[Model]) -> None:
    shape, space = common_event(parts), parts[0].traits().space
    for part in parts:
        traits = part.traits()
        called = f"model '{part.component_name}'"
        if "energy" not in traits.offers:
            raise ValueError(f"{called} does not offer an energy, so it cannot be composed")
        if traits.conditioning is not None:
            raise ValueError(f"{called} is conditioned on {traits.conditioning}, but a composition passes x alone")
        if traits.space != space:
            raise ValueError(f"{called} has {traits.space} states, but the first component has {space} ones")
        if part.event() not in (None, shape):
            raise ValueError(f"{called} has states of shape {part.event()}, but another component of shape {shape}")


def common_event(parts: Sequence[Model]) -> Event | None:
    """The shape fixed by a part, which the others take."""
    return next((event for part in parts if (event := part.event()) is not None), None)


def common_refusal(parts: Sequence[Model], question: Question) -> str | None:
    """Why one of the parts cannot be used in this experiment, in words that follow the name of the composition."""
    for part in parts:
        if reason := part.refusal(replace(question, model=part)):
            return f"contains model '{part.component_name}', which {reason}"
    return None


def check_weights(weights: Sequence[float] | None, parts: Sequence[Model]) -> None:
    """Raise a ValueError unless there is one weight per part, or none at all."""
    if weights is not None and len(weights) != len(parts):
        raise ValueError(f"{len(weights)} weights for {len(parts)} components: give one per component")
