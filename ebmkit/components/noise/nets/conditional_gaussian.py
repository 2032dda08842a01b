"""Conditional Gaussian noise as a module."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, prod

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.conditional_density import ConditionalDensity


class ConditionalGaussian(ConditionalDensity):
    """The mixture of N(x, sigma_k^2 I) with equal weights, with all sigma in a buffer: saved, not trainable."""

    sigma: Tensor

    def __init__(self, sigma: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("sigma", torch.tensor(sigma))

    def log_prob(self, y: Tensor, given: Tensor) -> Tensor:
        dimension = prod(y.shape[1:])
        squared = (y - given).flatten(1).square().sum(1, keepdim=True)
        scale = dimension * (self.sigma.log() + log(2 * pi) / 2)
        return (-squared / (2 * self.sigma**2) - scale).logsumexp(1) - log(len(self.sigma))

    def sample(self, given: Tensor, rng: Generator) -> Tensor:
        sigma = self.sigma
        if len(sigma) > 1:
            sigma = sigma[torch.randint(len(sigma), (len(given),), device=given.device, generator=rng)]
        sigma = sigma.view(-1, *[1] * (given.dim() - 1))
        return given + sigma * torch.empty_like(given).normal_(generator=rng)
