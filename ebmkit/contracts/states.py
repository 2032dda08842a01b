"""States: their shape, their space, and the inputs that a network takes in addition to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Shape of one state, without the batch: `(2,)` for a point in the plane, `(1, 28, 28)` for an image.
Event: TypeAlias = tuple[int, ...]

#: The space of states. Units of categorical states are numbers 0, 1, ..., K - 1 in the dtype of states.
Space: TypeAlias = Literal["real", "binary", "spin", "categorical"]

#: How data vary: in every direction, in every coordinate but not in every direction, or not in every coordinate.
Variation: TypeAlias = Literal["full", "degenerate", "constant"]

#: The input of a network in addition to x: none, a noise level, or a time.
Conditioning: TypeAlias = Literal["sigma", "time"] | None


def unit_values(space: Space, categories: int | None = None) -> tuple[float, ...]:
    """All values of a unit of discrete states, in ascending order and evenly spaced; none of real coordinates."""
    if space == "categorical":
        return tuple(map(float, range(categories or 0)))
    return {"binary": (0.0, 1.0), "spin": (-1.0, 1.0), "real": ()}[space]


def image_shape(event: Event) -> tuple[int, int, int] | None:
    """Channels, height and width, if an event can be shown as an image."""
    if len(event) == 2 and min(event) > 1:
        return 1, event[0], event[1]
    if len(event) == 3 and event[0] in (1, 3):
        return event[0], event[1], event[2]
    return None


def can_be_pictured(event: Event) -> bool:
    """Whether samples over training can be shown: as images, as points in the plane, or as a histogram."""
    return event in ((1,), (2,)) or image_shape(event) is not None
