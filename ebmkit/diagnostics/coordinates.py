"""Computing a diagnostic for each coordinate separately."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Fewest draws per chain; with fewer, half chains have no variance.
FEWEST = 4
#: Values in a block of coordinates. Sorting and transforming a block takes 40 MB, and a fifth less time in all.
BLOCK = 1 << 18
#: Values of coordinates that are read together: draws may be in a file, in which those of one coordinate are far apart.
SLAB = 1 << 21


def over_coordinates(figure: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Apply `figure` to each coordinate: `(chains, draws, *coords) -> (*coords)`, in float64.

    `figure` maps `(chains, draws, b) -> (b,)`. The result is NaN for fewer than four draws per chain, for a coordinate
    that is the same in all draws, and for one that is not always finite.
    """
    x = x.cpu() if x.device.type == "mps" else x  # which does not support float64
    chains, draws, *coords = x.shape
    if draws < FEWEST:
        return torch.full(coords, torch.nan, dtype=torch.float64, device=x.device)
    slabs = torch.split(x.reshape(chains, draws, -1), max(1, SLAB // (chains * draws)), dim=2)
    return torch.cat([_over_slab(figure, slab) for slab in slabs]).reshape(coords)


def _over_slab(figure: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)  # each chain of a coordinate contiguous
    blocks = torch.split(x, max(1, BLOCK // (x.shape[0] * x.shape[1])), dim=2)
    return torch.cat([_measured(figure, _precise(block)) for block in blocks])


def _measured(figure: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    lowest, highest = x.amin((0, 1)), x.amax((0, 1))
    measurable = (lowest < highest) & (highest - lowest).isfinite()  # false for NaN
    return figure(x).where(measurable, torch.nan)


def _precise(block: Tensor) -> Tensor:
    """In float64, with each chain contiguous in memory, which is fastest for sorting and transforms."""
    return block.double().permute(2, 0, 1).contiguous().permute(1, 2, 0)
