"""The shape of a state, when the parameters of a model are flat lists."""

from __future__ import annotations

from math import prod

from ebmkit.contracts.kinds import Event


def check_shape(shape: Event | None, dimension: int) -> None:
    """Raise a ValueError unless `shape` holds so many coordinates."""
    if shape is not None and prod(shape) != dimension:
        raise ValueError(f"'shape' {list(shape)} holds {prod(shape)} coordinates, the mean has {dimension}")
