"""The double well as a module."""

from __future__ import annotations

from math import log, pi, prod, sqrt

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.target import Target

#: Energy above the wells, in units of T, beyond which mass is neglected: exp(-50) is below the precision of float64.
REACH = 50.0
#: Number of points of the table from which the magnitude is drawn.
POINTS = 1 << 14


class DoubleWellEnergy(Target):
    """`E(x) = h (t^2 - 1)^2 + 1/2 (x_2^2 + ...)` with `t = x_1 / a`."""

    magnitudes: Tensor
    cdf: Tensor

    def __init__(self, event: tuple[int, ...], position: float, barrier: float) -> None:
        reach = sqrt(REACH / barrier)  # of t^2 on both sides of the well
        t = torch.linspace(sqrt(max(0.0, 1 - reach)), sqrt(1 + reach), POINTS, dtype=torch.float64)
        mass = torch.cumulative_trapezoid(torch.exp(-barrier * (t.square() - 1).square()), t)
        mass = torch.cat([mass.new_zeros(1), mass])
        log_z = log(2 * position * float(mass[-1])) + (prod(event) - 1) / 2 * log(2 * pi)
        super().__init__(event, log_z)
        self.position = position
        self.barrier = barrier
        self.register_buffer("magnitudes", (position * t).to(self.log_normaliser))
        self.register_buffer("cdf", (mass / mass[-1]).to(self.log_normaliser))

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(*self._parts(x))

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = (4 h (t^2 - 1) t / a, x_2, ...)`."""
        t, rest = self._parts(x)
        slope = 4 * self.barrier / self.position * (t.square() - 1) * t
        return self._energy(t, rest), torch.cat([slope, rest], 1).view_as(x)

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """The magnitude of x_1 by its interpolated quantile function, and a random sign."""
        u = self.uniform(n, 1, rng).squeeze(1)
        above = torch.searchsorted(self.cdf, u, right=True)  # cdf[above - 1] <= u < cdf[above]
        fraction = (u - self.cdf[above - 1]) / (self.cdf[above] - self.cdf[above - 1])
        magnitude = torch.lerp(self.magnitudes[above - 1], self.magnitudes[above], fraction)
        x = self.normal(n, self.dimension, rng)
        x[:, 0] = magnitude.copysign(x[:, 0])
        return x.view(n, *self.event)

    def modes(self) -> tuple[Tensor, Tensor]:
        """The minima of the wells `(2, d)`, and their masses, 1/2 each."""
        wells = self.magnitudes.new_zeros(2, self.dimension)
        wells[0, 0], wells[1, 0] = -self.position, self.position
        return wells, self.magnitudes.new_full((2,), 0.5)

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The columns t and x_2, ..., x_d."""
        flat = x.flatten(1)
        return flat[:, :1] / self.position, flat[:, 1:]

    def _energy(self, t: Tensor, rest: Tensor) -> Tensor:
        return self.barrier * (t.square() - 1).square().squeeze(1) + rest.square().sum(1) / 2
