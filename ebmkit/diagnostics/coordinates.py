"""A figure for each coordinate by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Fewer draws than these, and the halves of a chain have no variance.
FEWEST = 4
#: Numbers in a block of coordinates. To sort and transform them takes 40 MB, and a fifth less time than all at once.
BLOCK = 1 << 18


def over_coordinates(figure: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """What `figure` makes of each coordinate: `(chains, draws, *coords) -> (*coords)`, in float64.

    `figure` maps `(chains, draws, b) -> (b,)`. Where there is nothing to measure, the answer is NaN: fewer than four
    draws a chain, a coordinate that is the same in all draws, and one that is not always finite.
    """
    x = x.cpu() if x.device.type == "mps" else x  # which does not know float64
    chains, draws, *coords = x.shape
    if draws < FEWEST:
        return torch.full(coords, torch.nan, dtype=torch.float64, device=x.device)
    blocks = torch.split(x.reshape(chains, draws, -1), max(1, BLOCK // (chains * draws)), dim=2)
    return torch.cat([_measured(figure, _precise(block)) for block in blocks]).reshape(coords)


def _measured(figure: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    lowest, highest = x.amin((0, 1)), x.amax((0, 1))
    measurable = (lowest < highest) & (highest - lowest).isfinite()  # false for NaN
    return figure(x).where(measurable, torch.nan)


def _precise(block: Tensor) -> Tensor:
    """In float64, and in memory one chain behind the other, as sorting and transforms like it."""
    return block.double().permute(2, 0, 1).contiguous().permute(1, 2, 0)
