"""What holds for every model that is made of others. Checked without torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ebmkit.contracts.kinds import Event, Model

#: What a composition can do without knowing a normaliser: each ability, and those that every part needs for it.
ENERGY_AND_GRADIENT = {"energy": frozenset({"energy"}), "gradient": frozenset({"gradient"})}

#: Models in a composition, with those inside others: shared parts that hold shared parts multiply in a few lines.
MOST = 1000


def compose(whole: Model, parts: Sequence[Model], passed_on: Mapping[str, frozenset[str]]) -> None:
    """Refuse parts that do not fit together, and set on the whole what follows from them: its space, what it offers.

    `passed_on` maps an ability of the whole to those that every part needs for it.
    """
    if len(_right(parts)) < len(parts):
        return
    if len(list(islice(_inside(parts), MOST + 1))) > MOST:
        raise ValueError(f"more than {MOST} models, counting those inside compositions")
    _check(parts)
    common = frozenset.intersection(*(part.offers for part in parts))
    offers = frozenset(ability for ability, needed in passed_on.items() if needed <= common)
    object.__setattr__(whole, "offers", offers)  # frozen, as every component: this is still its construction
    object.__setattr__(whole, "space", parts[0].space)


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
    shape, space = common_event(parts), parts[0].space
    for part in parts:
        called = f"model '{part.component_name}'"
        if "energy" not in part.offers:
            raise ValueError(f"{called} has no energy that could be composed")
        if part.conditioning is not None:
            raise ValueError(f"{called} is conditioned on {part.conditioning}, and a composition gives it x alone")
        if part.space != space:
            raise ValueError(f"{called} has {part.space} states, the first component has {space} ones")
        if part.event() not in (None, shape):
            raise ValueError(f"{called} has states of shape {part.event()}, a component before it of shape {shape}")
        if shape is not None and (reason := part.refusal(shape)):
            raise ValueError(f"{called} {reason}")


def common_event(parts: Sequence[Model]) -> Event | None:
    """The shape that a part fixes, and that the others take."""
    return next((event for part in _right(parts) if (event := part.event()) is not None), None)


def common_refusal(parts: Sequence[Model], event: Event) -> str | None:
    """Why one of the parts cannot take states of this shape, in words that follow the name of the whole."""
    for part in _right(parts):
        if reason := part.refusal(event):
            return f"holds model '{part.component_name}', which {reason}"
    return None


def _right(parts: Sequence[Model]) -> list[Model]:
    """The parts without mistakes of their own: where the checker has found and said one, there is None instead."""
    return [part for part in parts if part is not None]


def check_weights(weights: Sequence[float] | None, parts: Sequence[Model]) -> None:
    """Raise a ValueError unless there is a weight for each part, or none at all."""
    if weights is not None and len(weights) != len(parts):
        raise ValueError(f"{len(weights)} weights for {len(parts)} components")
