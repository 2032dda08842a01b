"""Gaussian noise as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.gaussian import whitening
from ebmkit.contracts.modules.density import Density


class GaussianDensity(Density):
    """N(mean, covariance) in buffers: saved with the run, not trainable."""

    mean: Tensor
    factor: Tensor
    whitening: Tensor
    log_norm: Tensor

    def __init__(self, mean: Tensor, covariance: Tensor, event: tuple[int, ...]) -> None:
        super().__init__()
        dtype = torch.get_default_dtype()
        factor = torch.linalg.cholesky(covariance)
        self.event = event
        self.register_buffer("mean", mean.to(dtype))
        self.register_buffer("factor", factor.to(dtype))
        self.register_buffer("whitening", whitening(covariance).to(dtype))
        self.register_buffer("log_norm", (len(mean) / 2 * log(2 * pi) + factor.diag().log().sum()).to(dtype))

    def log_prob(self, x: Tensor) -> Tensor:
        white = (x.flatten(1) - self.mean) @ self.whitening.T
        return -white.square().sum(1) / 2 - self.log_norm

    def sample(self, n: int, rng: Generator) -> Tensor:
        xi = torch.empty(n, len(self.mean), device=self.mean.device, dtype=self.mean.dtype).normal_(generator=rng)
        return torch.addmm(self.mean, xi, self.factor.T).view(n, *self.event)
