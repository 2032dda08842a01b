"""States: their shape, their space, and the inputs that a network takes in addition to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Shape of one state, without the batch: `(2,)` for a point in the plane, `(1, 28, 28)` for an image.
Event: TypeAlias = tuple[int, ...]

#: The space of states.
Space: TypeAlias = Literal["real", "binary", "spin"]

#: The input of a network in addition to x: none, a noise level, or a time.
Conditioning: TypeAlias = Literal["sigma", "time"] | None
