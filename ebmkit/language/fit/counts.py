"""Checks of numbers that components announce before they are built: is there something to train, and room for it?"""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Event, Model, Noise, Objective, Optimizer
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.fit import Unsuitable
from ebmkit.errors.running import ComponentFailed
from ebmkit.language.check import Checked
from ebmkit.language.fit.memory import memory_misfits
from ebmkit.language.fit.places import Places, event_of, label_of
from ebmkit.language.fit.stages import seen_from
from ebmkit.language.stages import part_of


def count_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Everything that depends on numbers of parameters, for a spec whose parts fit together."""
    event = event_of(checked)
    assert event is not None  # a model without a known shape was refused
    wrong = list(_wrong_counts(checked, event, here))
    yield from wrong
    if not wrong:
        yield from _trained_misfits(checked, event, here)
        yield from memory_misfits(checked.spec, event, here)


def _wrong_counts(checked: Checked, event: Event, here: Places) -> Iterator[EbmkitError]:
    """A plugin may raise anything, and return anything."""
    for path, component in walk(checked.spec):
        if isinstance(component, Model) and len(path) > 1:
            continue  # counted by the component around it, which may build it for another shape
        seen = [event_of(each) for each in seen_from(path, checked)]
        try:
            count = _count(component, (seen[0] if seen else None) or event)
        except Exception as error:
            said = f"{here.label(component)} cannot count its parameters: {describe_error(error)}"
            yield ComponentFailed(said, here(*path))
            continue
        if count is not None and not (type(count) is int and count >= 0):
            said = f"{here.label(component)} counts its parameters by a {type_name(count)}, not by a whole number"
            yield ComponentFailed(said, here(*path))


def _count(component: Component, event: Event) -> int | None:
    if isinstance(component, Optimizer):
        return component.state_count()
    return component.parameter_count(event) if isinstance(component, Model | Noise | Objective) else None


def _trained_misfits(checked: Checked, event: Event, here: Places) -> Iterator[EbmkitError]:
    """Checks that there is something to train: parameters of the model, or of the objective."""
    spec, told = checked.spec, False
    for index in range(len(spec.stages)):
        objective, part = spec.objective_of(index), part_of(spec, event, index)
        model, shape = (part.model, part.event) if part else (spec.model, event)
        if told or objective is None or model.parameter_count(shape) != 0 or objective.parameter_count(shape) != 0:
            continue
        told = True
        yield Unsuitable(
            f"there is nothing to train: {label_of(model)} has no trainable parameters, "
            f"and {label_of(objective)} adds none",
            here("model"),
            label="no trainable parameters",
            other=here(*spec.objective_path(index)),
            help="use a model with trainable parameters, or leave out 'objective:' and 'train:' to sample this one",
        )
