"""Latent states with a standard Gaussian prior, as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.latent import LatentEnergy


class FactorAnalysisEnergy(LatentEnergy):
    """`x ~ N(b, WW' + diag(std^2))`: all sums over z have a closed form, with `M = I + W' diag(std^-2) W`."""

    #: z is drawn exactly given x.
    keeps_hidden = False

    def prior_energy(self, z: Tensor) -> Tensor:
        return z.square().sum(1) / 2

    def _precision(self) -> Tensor:
        """M, `(H, H)`."""
        scaled = self.scaled_weights
        precision: Tensor = scaled.T @ scaled + torch.diag(torch.ones_like(scaled[0]))
        return precision

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(x.flatten(1), _factor(self._precision()))

    def _energy(self, v: Tensor, factor: Tensor) -> Tensor:
        """`1/2 |(v - b) / std|^2 - 1/2 a'M^-1 a + 1/2 log |M| - H/2 log(2 pi)` with `a = W'(v - b) / std^2`."""
        explained: Tensor = torch.linalg.solve_triangular(factor, self.pull(v).T, upper=False)
        log_det = factor.diagonal().log().sum() - self.hidden_units / 2 * log(2 * pi)
        return (self.centred(v).square().sum(1) - explained.square().sum(0)) / 2 + log_det

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dv = ((v - b) / std - W M^-1 a / std) / std`."""
        v, factor = x.flatten(1), _factor(self._precision())
        latent = torch.cholesky_solve(self.pull(v).T, factor).T  # E[z | x]
        slope = (self.centred(v) - latent @ self.scaled_weights.T) / self.std
        return self._energy(v, factor), slope.view_as(x)

    def posterior_energy(self, x: Tensor, rng: Generator) -> Tensor:
        """The energy: q is exact."""
        return self._energy(x.flatten(1), _factor(self._precision()))

    def blocks(self) -> list[Tensor]:
        """x, then z: its units are drawn at once, though they interact."""
        return [self.visible, self.hidden]

    def draw_hidden(self, x: Tensor, rng: Generator) -> Tensor:
        """z given x."""
        v = x.flatten(1)
        everything = torch.arange(self.hidden_units, device=v.device)
        nothing = v.new_zeros(len(v), self.hidden_units)
        return self.draw_latent(v, nothing, everything, everything >= 0, 1.0, rng)

    def draw_latent(
        self, v: Tensor, z: Tensor, sites: Tensor, counted: Tensor, temperature: Tensor | float, rng: Generator
    ) -> Tensor:
        """A Gaussian with the precision `M[sites, sites] / T`."""
        precision, units = self._precision(), counted.to(v.dtype)
        inside = precision.index_select(0, sites).index_select(1, sites) * units * units.unsqueeze(1)
        factor = _factor(inside + torch.diag(1 - units))
        drawn = torch.zeros_like(precision[0]).index_add(0, sites, units)
        field = (self.pull(v) - (z * (1 - drawn)) @ precision).index_select(1, sites) * units
        mean = torch.cholesky_solve(field.T, factor).T
        noise = torch.empty_like(mean).normal_(generator=rng)
        spread: Tensor = torch.linalg.solve_triangular(factor.T, noise.T, upper=True)
        return mean + spread.T * temperature**0.5

    def log_z(self) -> Tensor:
        """The log of the integral over x and z."""
        return self.log_volume + self.hidden_units / 2 * log(2 * pi)

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """z from the prior, then x given z."""
        z = torch.empty(n, self.hidden_units, device=self.weights.device, dtype=self.weights.dtype)
        return self.given(z.normal_(generator=rng), rng)


def _factor(precision: Tensor) -> Tensor:
    """The Cholesky factor, without a host synchronisation that checks it; NaN if a number is not finite."""
    factor: Tensor = torch.linalg.cholesky_ex(precision).L
    total = precision.sum()
    return factor + (total - total)
