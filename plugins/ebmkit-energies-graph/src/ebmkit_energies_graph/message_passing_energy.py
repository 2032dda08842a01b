"""Message passing between particles as a module."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ebmkit_energies_graph.particles import as_particles, squared_distances

if TYPE_CHECKING:
    from ebmkit_energies_graph.message_passing import MessagePassing

#: The ratio of the largest to the smallest width of Gaussians.
RANGE = 50.0


def network(ins: int, hidden: int, outs: int) -> nn.Sequential:
    """One hidden layer, which is smooth: forces are derivatives of the energy."""
    return nn.Sequential(nn.Linear(ins, hidden), nn.SiLU(), nn.Linear(hidden, outs))


class Layer(nn.Module):
    """One round of messages."""

    def __init__(self, width: int, bumps: int) -> None:
        super().__init__()
        self.message = network(2 * width + bumps, width, width)
        self.update = network(2 * width, width, width)

    def forward(self, h: Tensor, e: Tensor, others: Tensor) -> Tensor:
        n = h.shape[1]
        mine, theirs = h.unsqueeze(2).expand(-1, n, n, -1), h.unsqueeze(1).expand(-1, n, n, -1)
        messages = (self.message(torch.cat([mine, theirs, e], 3)) * others).sum(2)
        update: Tensor = self.update(torch.cat([h, messages], 2))
        return h + update


class MessagePassingEnergy(nn.Module):
    """The energy of sets of any size; its parameters depend on neither the number of particles nor their dimension."""

    precisions: Tensor

    def __init__(self, model: MessagePassing) -> None:
        super().__init__()
        self.width = model.width
        widths = torch.logspace(log(1 / RANGE), 0, model.bumps, base=torch.e) * model.reach
        self.register_buffer("precisions", 1 / widths.square(), persistent=False)
        self.log_trap = nn.Parameter(torch.tensor(log(model.trap)))
        self.layers = nn.ModuleList(Layer(model.width, model.bumps) for _ in range(model.layers))
        self.pair = network(model.width + model.bumps, model.width, 1)

    def forward(self, x: Tensor) -> Tensor:
        particles = as_particles(x)
        confined = self.log_trap.exp() * particles.square().sum((1, 2)) / 2
        return confined + self.interaction(particles)

    def interaction(self, particles: Tensor) -> Tensor:
        """The energy without the trap, `(B, n, d) -> (B,)`."""
        batch, n, _ = particles.shape
        others = 1 - torch.eye(n, device=particles.device, dtype=particles.dtype).unsqueeze(2)  # no messages to itself
        e = (-squared_distances(particles).unsqueeze(3) * self.precisions / 2).exp()
        h = particles.new_zeros(batch, n, self.width)
        for layer in self.layers:
            h = layer(h, e, others)
        both = h.unsqueeze(2) + h.unsqueeze(1)
        pairs: Tensor = self.pair(torch.cat([both, e], 3)) * others
        return pairs.sum((1, 2, 3)) / 2  # every pair was counted twice
