"""Corruption of states of two values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor


def corrupted(x: Tensor, flip: float, mask: float, values: tuple[float, float], rng: Generator) -> Tensor:
    """States `(B, *event)` of which a share `flip` of the units has its other value, and a share `mask` of the units is
    forgotten: each of these takes one of the two values at random.

    The units are chosen for each state, and no unit is chosen for both: the shares must not exceed 1 together.
    """
    low, high = values
    flat = x.flatten(1)
    units = flat.shape[1]
    flips, masks = round(flip * units), round(mask * units)
    rank = torch.empty_like(flat).uniform_(generator=rng).argsort(1).argsort(1)
    coin = low + (high - low) * torch.empty_like(flat).uniform_(generator=rng).round()
    changed = torch.where(rank < flips, low + high - flat, flat)
    return torch.where((rank >= flips) & (rank < flips + masks), coin, changed).view_as(x)
