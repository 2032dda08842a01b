"""Gaussian mixture noise as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.gaussian import whitening
from ebmkit.contracts.modules.density import Density


class GaussianMixtureDensity(Density):
    """`sum_k w_k N(m_k, C_k)` in buffers: saved with the run, not trainable."""

    weights: Tensor
    means: Tensor
    factors: Tensor
    whitening: Tensor
    heights: Tensor

    def __init__(self, weights: Tensor, means: Tensor, covariances: Tensor, event: tuple[int, ...]) -> None:
        super().__init__()
        dtype = torch.get_default_dtype()
        factors = torch.linalg.cholesky(covariances)
        log_det = factors.diagonal(dim1=1, dim2=2).log().sum(1)
        self.event = event
        self.register_buffer("weights", weights.to(dtype))
        self.register_buffer("means", means.to(dtype))
        self.register_buffer("factors", factors.to(dtype))
        self.register_buffer("whitening", whitening(covariances).to(dtype))
        self.register_buffer("heights", (weights.log() - log_det - means.shape[1] / 2 * log(2 * pi)).to(dtype))

    def log_prob(self, x: Tensor) -> Tensor:
        white = torch.bmm(x.flatten(1) - self.means.unsqueeze(1), self.whitening.mT)
        return (self.heights.unsqueeze(1) - white.square().sum(2) / 2).logsumexp(0)

    def sample(self, n: int, rng: Generator) -> Tensor:
        k = torch.multinomial(self.weights, n, replacement=True, generator=rng)
        xi = torch.empty(n, self.means.shape[1], device=k.device, dtype=self.means.dtype).normal_(generator=rng)
        return (self.means[k] + torch.einsum("nij,nj->ni", self.factors[k], xi)).reshape(n, *self.event)
