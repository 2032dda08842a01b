"""The nearest of many points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Numbers held at a time, of points and of distances.
BLOCK = 1 << 22


class Neighbours(NamedTuple):
    """Of each point `(n,)`: which of the others is nearest, how far it is, and how far the next one that is further."""

    nearest: Tensor
    distance: Tensor
    next_distance: Tensor


def neighbours(points: Tensor, among: Tensor, mask: Tensor | None = None) -> Neighbours:
    """Euclidean, with both flattened, in blocks of bounded memory; `among` may lie on another device. Where there is a
    mask, of the shape of a point, only coordinates at which it is true count.

    By differences, not by products: those lose the distances of close points, which are what is looked for. Copies of
    the nearest point do not count as the next one, which is infinitely far where there are only copies.
    """
    flat, others = points.flatten(1), among.flatten(1)
    flat = flat.to(torch.promote_types(flat.dtype, torch.float32))  # in half precision there are no distances
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
        apart = torch.cdist(flat, block.to(flat), compute_mode="donot_use_mm_for_euclid_dist")
        here, column = apart.min(1)
        beyond = apart.masked_fill(apart <= here.unsqueeze(1), infinite).amin(1)
        closer = here < nearest
        # The next one is the least of four that is not the nearest, or a copy of it.
        four = torch.stack([nearest, following, here, beyond], 1)
        which, nearest = torch.where(closer, column + first, which), torch.where(closer, here, nearest)
        following = four.masked_fill(four <= nearest.unsqueeze(1), infinite).amin(1)
    return Neighbours(which, nearest, following)
