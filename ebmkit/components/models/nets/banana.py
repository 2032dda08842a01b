"""The banana-shaped density as a module."""

from __future__ import annotations

from math import log, pi, prod

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.target import Target


class BananaEnergy(Target):
    """`E(x) = 1/2 (x_1^2 / s^2 + u^2 + x_3^2 + ...)` with `u = x_2 + b (x_1^2 - s^2)`.

    `x -> (x_1, u, x_3, ...)` preserves volumes, so Z is that of the Gaussian.
    """

    def __init__(self, event: tuple[int, ...], scale: float, curvature: float) -> None:
        super().__init__(event, prod(event) / 2 * log(2 * pi) + log(scale))
        self.scale = scale
        self.curvature = curvature

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(*self._straight(x))

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = (x_1 / s^2 + 2 b x_1 u, u, x_3, ...)`."""
        first, u, rest = self._straight(x)
        gradient = torch.cat([first * (self.scale**-2 + 2 * self.curvature * u), u, rest], 1)
        return self._energy(first, u, rest), gradient.view_as(x)

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Draw from the Gaussian and transform."""
        first, u, rest = self._columns(self.normal(n, self.dimension, rng))
        first = self.scale * first
        return torch.cat([first, u - self._shift(first), rest], 1).view(n, *self.event)

    def _straight(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The columns `x_1`, `u` and the rest: independent Gaussians."""
        first, second, rest = self._columns(x.flatten(1))
        return first, second + self._shift(first), rest

    def _columns(self, flat: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return flat[:, :1], flat[:, 1:2], flat[:, 2:]

    def _shift(self, first: Tensor) -> Tensor:
        return self.curvature * (first.square() - self.scale**2)

    def _energy(self, first: Tensor, u: Tensor, rest: Tensor) -> Tensor:
        return torch.cat([first / self.scale, u, rest], 1).square().sum(1) / 2
