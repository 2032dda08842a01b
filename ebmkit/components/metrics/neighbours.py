"""Nearest-neighbour search."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Numbers in memory at once, of points and of distances.
BLOCK = 1 << 22


class Neighbours(NamedTuple):
    """For each point `(n,)`: index and distance of the nearest of the others, and the next larger distance."""

    nearest: Tensor
    distance: Tensor
    next_distance: Tensor


def neighbours(points: Tensor, among: Tensor, mask: Tensor | None = None) -> Neighbours:
    """Euclidean, on flattened points, in blocks of bounded memory; `among` may be on another device. With a mask of the
    shape of a point, only coordinates where it is true count.

    Distances are computed from differences, since products lose digits for close points, the relevant ones. Copies of
    the nearest point do not count as the next one, which is infinitely far if there are only copies.
    """
    flat, others = points.flatten(1), among.flatten(1)
    flat = flat.to(torch.promote_types(flat.dtype, torch.float32))  # half precision is too coarse for distances
    if mask is not None:
        flat = flat[:, mask.flatten().to(flat.device)]
    count, infinite = len(flat), float("inf")
    which = torch.zeros(count, dtype=torch.long, device=flat.device)
    nearest, following = (torch.full((count,), infinite, dtype=flat.dtype, device=flat.device) for _ in range(2))
    side = max(1, BLOCK // max(1, others.shape[1], count))
    for first in range(0, len(others), side):
        block = others[first : first + side]
        if mask is not None:
            block = block[:, mask.flatten().to(block.device)]
        distances = torch.cdist(flat, block.to(flat), compute_mode="donot_use_mm_for_euclid_dist")
        here, column = distances.min(1)
        beyond = distances.masked_fill(distances <= here.unsqueeze(1), infinite).amin(1)
        closer = here < nearest
        # The next distance is the smallest of four that differs from the nearest, so that copies do not count.
        four = torch.stack([nearest, following, here, beyond], 1)
        which, nearest = torch.where(closer, column + first, which), torch.where(closer, here, nearest)
        following = four.masked_fill(four <= nearest.unsqueeze(1), infinite).amin(1)
    return Neighbours(which, nearest, following)
