"""Neal's funnel as a module."""

from __future__ import annotations

from math import log, pi, prod

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.target import Target


class FunnelEnergy(Target):
    """`E(x) = v^2 / (2 s^2) + (d - 1) v / 2 + exp(-v) |y|^2 / 2` with `v = x_1` and `y = (x_2, ..., x_d)`."""

    def __init__(self, event: tuple[int, ...], scale: float) -> None:
        super().__init__(event, prod(event) / 2 * log(2 * pi) + log(scale))
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(*self._parts(x))

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = (v / s^2 + (d - 1) / 2 - exp(-v) |y|^2 / 2, exp(-v) y)`."""
        v, y, precision = self._parts(x)
        along = v / self.scale**2 + (self.dimension - 1) / 2 - precision * y.square().sum(1, keepdim=True) / 2
        return self._energy(v, y, precision), torch.cat([along, precision * y], 1).view_as(x)

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Draw v, then y with variance exp(v)."""
        xi = self.normal(n, self.dimension, rng)
        v = self.scale * xi[:, :1]
        return torch.cat([v, torch.exp(v / 2) * xi[:, 1:]], 1).view(n, *self.event)

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The columns v and y, and the precision exp(-v) of y."""
        flat = x.flatten(1)
        v = flat[:, :1]
        return v, flat[:, 1:], torch.exp(-v)

    def _energy(self, v: Tensor, y: Tensor, precision: Tensor) -> Tensor:
        of_v = v.square() / (2 * self.scale**2) + (self.dimension - 1) / 2 * v
        return (of_v + precision * y.square().sum(1, keepdim=True) / 2).squeeze(1)
