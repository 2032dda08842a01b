"""States: their shape, the space they live in, and what a network takes in addition to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Shape of one state, without the batch: `(2,)` for a point in the plane, `(1, 28, 28)` for an image.
Event: TypeAlias = tuple[int, ...]

#: Where a state lives.
Space: TypeAlias = Literal["real", "binary", "spin"]

#: What a network takes in addition to x: nothing, a noise level, or a time.
Conditioning: TypeAlias = Literal["sigma", "time"] | None
