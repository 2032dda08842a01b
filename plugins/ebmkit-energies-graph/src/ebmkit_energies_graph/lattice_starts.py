"""Starting points on a lattice as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.api import Event, Starts
from ebmkit_energies_graph.particles import particle_count


class LatticeStarts(Starts):
    """Shaken lattices, whose sites the particles of each chain occupy in an order of its own."""

    sites: Tensor

    def __init__(self, event: Event, spacing: float, jitter: float) -> None:
        super().__init__()
        self.event = event
        self.spacing = spacing
        self.jitter = jitter
        sites = spacing * central_sites(particle_count(event), event[-1])
        self.register_buffer("sites", sites.to(torch.get_default_dtype()), persistent=False)

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        chains, (n, d) = len(like), self.sites.shape
        order = torch.empty(chains, n, device=like.device, dtype=like.dtype).uniform_(generator=rng).argsort(1)
        xi = torch.empty(chains, n, d, device=like.device, dtype=like.dtype).normal_(generator=rng)
        x = self.sites.to(like.dtype)[order] + self.jitter * self.spacing * xi
        return x.view(chains, *self.event)


def central_sites(n: int, d: int) -> Tensor:
    """The n points of a cubic lattice that are next to the centre of the smallest cube that holds them, centred."""
    side = next(side for side in range(1, n + 1) if side**d >= n)
    line = torch.arange(side, device="cpu", dtype=torch.float64) - (side - 1) / 2
    cube = torch.cartesian_prod(*[line] * d).view(-1, d)
    nearest = cube[cube.square().sum(1).argsort(stable=True)[:n]]
    return nearest - nearest.mean(0)
