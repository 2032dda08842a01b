"""The shape of a state, for models whose parameters are flat lists."""

from __future__ import annotations

from math import prod

from ebmkit.contracts.kinds import Event


def check_shape(shape: Event | None, dimension: int) -> None:
    """Raise a ValueError unless `shape` has this many coordinates."""
    if shape is not None and prod(shape) != dimension:
        raise ValueError(f"'shape' {list(shape)} has {prod(shape)} coordinates, but the mean has {dimension}")
