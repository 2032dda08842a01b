"""States as sets of particles."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ebmkit.api import Event, torch

if TYPE_CHECKING:
    from torch import Tensor


def particle_count(event: Event) -> int:
    """The number of particles in a state whose last axis contains the coordinates of a particle."""
    return prod(event[:-1])


def as_particles(x: Tensor) -> Tensor:
    """States `(B, *event)` as `(B, n, d)`."""
    return x.reshape(len(x), -1, x.shape[-1]) if x.numel() else x.new_empty(len(x), prod(x.shape[1:-1]), x.shape[-1])


def squared_distances(particles: Tensor) -> Tensor:
    """Of all pairs, `(B, n, d) -> (B, n, n)`: exact zeros on the diagonal, and smooth there."""
    return (particles.unsqueeze(2) - particles.unsqueeze(1)).square().sum(3)


def sorted_distances(x: Tensor) -> Tensor:
    """The distances of all pairs in all states, ascending, on the host in float64."""
    squared = squared_distances(as_particles(x.cpu().double()))
    first, second = torch.triu_indices(squared.shape[1], squared.shape[1], 1, device="cpu")
    return squared[:, first, second].sqrt().flatten().sort().values
