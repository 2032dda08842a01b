"""Independent Gaussian particles as a module."""

from __future__ import annotations

from math import log, pi
from typing import Self

import torch
from torch import Generator, Tensor

from ebmkit.api import Density, Event
from ebmkit_energies_graph.particles import as_particles, particle_count


class IndependentDensity(Density):
    """`prod_i N(x_i; mean, factor factor')` in buffers, which are saved with the run and not trained."""

    mean: Tensor
    factor: Tensor

    def __init__(self, event: Event, mean: Tensor, factor: Tensor) -> None:
        super().__init__()
        self.event = event
        self.register_buffer("mean", mean.to(torch.get_default_dtype()))
        self.register_buffer("factor", factor.to(torch.get_default_dtype()))

    @classmethod
    def fitted(cls, event: Event, data: Tensor, inflate: float) -> Self:
        """The mean and the covariance of all particles of all points; a ValueError if the covariance is singular."""
        particles = data.double().reshape(-1, event[-1])
        covariance = inflate * torch.cov(particles.T).reshape(event[-1], event[-1])
        factor, failed = torch.linalg.cholesky_ex(covariance)
        if failed or not covariance.isfinite().all():
            raise ValueError(f"{len(particles)} particles do not span {event[-1]} coordinates: give more varied points")
        return cls(event, particles.mean(0), factor)

    def log_prob(self, x: Tensor) -> Tensor:
        off = as_particles(x) - self.mean
        white = torch.linalg.solve_triangular(self.factor, off.mT, upper=False)
        log_norm = self.factor.diagonal().log().sum() + len(self.mean) * log(2 * pi) / 2
        log_p: Tensor = -white.square().sum((1, 2)) / 2 - particle_count(self.event) * log_norm
        return log_p

    def sample(self, n: int, rng: Generator) -> Tensor:
        xi = torch.empty(n, *self.event, device=self.mean.device, dtype=self.mean.dtype).normal_(generator=rng)
        return self.mean + xi @ self.factor.T
