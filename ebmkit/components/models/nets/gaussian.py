"""The Gaussian as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor, nn

from ebmkit.maths.precision import precise


def whitening(covariance: Tensor) -> Tensor:
    """A matrix W with `W C W' = I`, so that `|W (x - mean)|^2` is the Mahalanobis distance. Batched."""
    factor = torch.linalg.cholesky(covariance)
    identity = torch.eye(factor.shape[-1], device=factor.device, dtype=factor.dtype)
    inverse: Tensor = torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)
    return inverse


class GaussianEnergy(nn.Module):
    """`E(x) = 1/2 |W (x - mean)|^2`. Any invertible W gives a Gaussian: both are trained without constraints."""

    def __init__(
        self, mean: Tensor, covariance: Tensor, event: tuple[int, ...], dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        dtype = dtype or torch.get_default_dtype()
        self.event = event
        self.mean = nn.Parameter(mean.to(dtype))
        self.whitening = nn.Parameter(whitening(covariance).to(dtype))

    def forward(self, x: Tensor) -> Tensor:
        white = (x.flatten(1) - self.mean) @ self.whitening.T
        return white.square().sum(1) / 2

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = W'W (x - mean)`."""
        white = (x.flatten(1) - self.mean) @ self.whitening.T
        return white.square().sum(1) / 2, (white @ self.whitening).view_as(x)

    def log_z(self) -> Tensor:
        """`d/2 log 2 pi - log |det W|`, differentiable in W."""
        log_det: Tensor = torch.linalg.slogdet(precise(self.whitening)).logabsdet.to(self.whitening.dtype)
        return len(self.mean) / 2 * log(2 * pi) - log_det

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """`mean + W^-1 xi`."""
        xi = torch.empty(len(self.mean), n, device=self.mean.device, dtype=self.mean.dtype).normal_(generator=rng)
        # Unchecked, because a check would synchronise with the host; a singular W gives samples that are not finite.
        x: Tensor = self.mean + torch.linalg.solve_ex(precise(self.whitening), precise(xi)).result.T.to(xi.dtype)
        return x.reshape(n, *self.event)

    @torch.no_grad()
    def noised(self, sigma: float) -> GaussianEnergy:
        """The distribution of `x + sigma xi`: the covariance increases by sigma^2 I."""
        inverse = torch.linalg.inv(precise(self.whitening))
        covariance = inverse @ inverse.T
        covariance.diagonal().add_(sigma**2)
        return GaussianEnergy(self.mean.clone(), covariance, self.event, self.mean.dtype)
