"""The ring-shaped density as a module."""

from __future__ import annotations

from math import erfc, log, pi, prod, sqrt

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.target import Target


class RingEnergy(Target):
    """`E(x) = (q - R^2)^2 / (8 R^2 w^2) + 1/2 (x_3^2 + ...)` with `q = x_1^2 + x_2^2`.

    In the plane dx = 1/2 dq dangle, so q is Gaussian with mean R^2 and standard deviation 2 R w, truncated at zero.
    """

    def __init__(self, event: tuple[int, ...], radius: float, width: float) -> None:
        spread = 2 * radius * width
        uncut = erfc(-(radius**2) / spread / sqrt(2)) / 2  # the mass of that Gaussian above zero
        log_z = log(pi) + log(2 * pi) / 2 + log(spread) + log(uncut) + (prod(event) - 2) / 2 * log(2 * pi)
        super().__init__(event, log_z)
        self.radius = radius
        self.spread = spread
        self.uncut = uncut

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(*self._parts(x))

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = ((q - R^2) / (2 R^2 w^2) (x_1, x_2), x_3, ...)`."""
        plane, rest, excess = self._parts(x)
        gradient = torch.cat([2 * excess / self.spread**2 * plane, rest], 1)
        return self._energy(plane, rest, excess), gradient.view_as(x)

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """A uniform angle, and q by its quantile function."""
        u = self.uniform(n, 2, rng)
        angle = 2 * pi * u[:, :1]
        # The probability to exceed q is u times the mass above zero. Rounding could leave q just below zero.
        q = (self.radius**2 - self.spread * torch.special.ndtri(self.uncut * u[:, 1:])).clamp_min(0)
        plane = q.sqrt() * torch.cat([angle.cos(), angle.sin()], 1)
        return torch.cat([plane, self.normal(n, self.dimension - 2, rng)], 1).view(n, *self.event)

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The columns of the plane, the rest, and `q - R^2`."""
        flat = x.flatten(1)
        plane = flat[:, :2]
        return plane, flat[:, 2:], plane.square().sum(1, keepdim=True) - self.radius**2

    def _energy(self, plane: Tensor, rest: Tensor, excess: Tensor) -> Tensor:
        return torch.cat([excess / self.spread, rest], 1).square().sum(1) / 2
