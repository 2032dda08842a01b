"""Conditional Gaussian noise as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.conditional_density import ConditionalDensity


class ConditionalGaussian(ConditionalDensity):
    """N(x, sigma^2 I), with sigma in a buffer: saved with the run, not trainable."""

    sigma: Tensor

    def __init__(self, sigma: float) -> None:
        super().__init__()
        self.register_buffer("sigma", torch.tensor(sigma))

    def log_prob(self, y: Tensor, given: Tensor) -> Tensor:
        white = ((y - given) / self.sigma).flatten(1)
        return -white.square().sum(1) / 2 - white.shape[1] * (self.sigma.log() + log(2 * pi) / 2)

    def sample(self, given: Tensor, rng: Generator) -> Tensor:
        return given + self.sigma * torch.empty_like(given).normal_(generator=rng)
