"""The one-dimensional Gaussian mixture as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.target import Target


class Mixture1DEnergy(Target):
    """`E(x) = -log(3 exp(-(x + 2)^2 / 2) + exp(-(x - 4)^2 / 8))`, that is 3/5 N(-2, 1) + 2/5 N(4, 4)."""

    def __init__(self, event: tuple[int, ...]) -> None:
        super().__init__(event, log(5) + log(2 * pi) / 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.logaddexp(*self._log_heights(x.flatten(1))).neg().squeeze(1)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx`: the gradient of each component, weighted by its responsibility."""
        flat = x.flatten(1)
        left, right = self._log_heights(flat)
        of_left = torch.sigmoid(left - right)
        pull = of_left * (flat + 2) + (1 - of_left) * (flat - 4) / 4
        return torch.logaddexp(left, right).neg().squeeze(1), pull.view_as(x)

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Choose a component and draw from it."""
        is_left = self.uniform(n, 1, rng) < 0.6
        xi = self.normal(n, 1, rng)
        return torch.where(is_left, xi - 2, 2 * xi + 4).view(n, *self.event)

    def modes(self) -> tuple[Tensor, Tensor]:
        """Means `(2, 1)` and weights `(2,)` of the components."""
        return self.log_normaliser.new_tensor([[-2.0], [4.0]]), self.log_normaliser.new_tensor([0.6, 0.4])

    def _log_heights(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        return log(3) - (flat + 2).square() / 2, -(flat - 4).square() / 8
