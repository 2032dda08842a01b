"""What holds for every model that is made of others. Checked without torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

#: What a composition can do without knowing a normaliser: each ability, and those that every part needs for it.
ENERGY_AND_GRADIENT = {"energy": frozenset({"energy"}), "gradient": frozenset({"gradient"})}

#: Models in a composition, with those inside others: shared parts that hold shared parts multiply in a few lines.
MOST = 1000


def check_parts(parts: Sequence[Model]) -> None:
    """Raise a ValueError if the parts do not fit together."""
    if len(list(islice(_inside(parts), MOST + 1))) > MOST:
        raise ValueError(f"more than {MOST} models, counting those inside compositions")
    _check(parts)


def composed_traits(parts: Sequence[Model], passed_on: Mapping[str, frozenset[str]]) -> ModelTraits:
    """Traits of the whole. `passed_on` maps an ability of the whole to those that every part needs for it."""
    traits = [part.traits() for part in parts]
    common = frozenset.intersection(*(each.offers for each in traits))
    offers = frozenset(ability for ability, needed in passed_on.items() if needed <= common)
    return ModelTraits(traits[0].space, offers, smooth=all(each.smooth for each in traits))


def _inside(value: Any) -> Iterator[Model]:
    """Every model in a parameter, and every model in that one's, as often as it is built."""
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
            raise ValueError(f"{called} has no energy that could be composed")
        if traits.conditioning is not None:
            raise ValueError(f"{called} is conditioned on {traits.conditioning}, but a composition passes x alone")
        if traits.space != space:
            raise ValueError(f"{called} has {traits.space} states, the first component has {space} ones")
        if part.event() not in (None, shape):
            raise ValueError(f"{called} has states of shape {part.event()}, a component before it of shape {shape}")
        if shape is not None and (reason := part.refusal(Question(shape, part))):
            raise ValueError(f"{called} {reason}")


def common_event(parts: Sequence[Model]) -> Event | None:
    """The shape that a part fixes, and that the others take."""
    return next((event for part in parts if (event := part.event()) is not None), None)


def common_refusal(parts: Sequence[Model], question: Question) -> str | None:
    """Why one of the parts cannot work in this experiment, in words that follow the name of the whole."""
    for part in parts:
        if reason := part.refusal(replace(question, model=part)):
            return f"holds model '{part.component_name}', which {reason}"
    return None


def check_weights(weights: Sequence[float] | None, parts: Sequence[Model]) -> None:
    """Raise a ValueError unless there is a weight for each part, or none at all."""
    if weights is not None and len(weights) != len(parts):
        raise ValueError(f"{len(weights)} weights for {len(parts)} components")
