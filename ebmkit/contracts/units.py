"""The units of the data, as a run maps them to the space in which its network works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class DataUnits(Protocol):
    """An affine map: states `x` in the units of the data, and `z` in the space of `scale`."""

    @property
    def are_those_of_the_data(self) -> bool: ...  # nothing is mapped
    @property
    def log_volume(self) -> float: ...  # log |dx/dz|: E(x) = E(z) + log_volume

    def into(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """`z` for `x`."""

    def out_of(self, z: Tensor) -> Tensor:
        """`x` for `z`."""
