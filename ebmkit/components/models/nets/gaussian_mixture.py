"""The Gaussian mixture as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor, nn

from ebmkit.components.models.nets.gaussian import whitening
from ebmkit.maths.precision import precise


class GaussianMixtureEnergy(nn.Module):
    """`E(x) = -logsumexp_k(h_k - 1/2 |W_k (x - m_k)|^2)`.

    The heights h combine weights and determinants, so the energy needs no determinant.
    """

    def __init__(
        self,
        weights: Tensor,
        means: Tensor,
        covariances: Tensor,
        event: tuple[int, ...],
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        dtype = dtype or torch.get_default_dtype()
        matrices = whitening(covariances)
        self.event = event
        self.heights = nn.Parameter((weights.log() + torch.linalg.slogdet(matrices).logabsdet).to(dtype))
        self.means = nn.Parameter(means.to(dtype))
        self.whitening = nn.Parameter(matrices.to(dtype))

    def _white(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The whitened distances `(K, B, d)` and the log heights of the components at x, `(K, B)`."""
        white = torch.bmm(x.flatten(1) - self.means.unsqueeze(1), self.whitening.mT)
        return white, self.heights.unsqueeze(1) - white.square().sum(2) / 2

    def forward(self, x: Tensor) -> Tensor:
        return -self._white(x)[1].logsumexp(0)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = sum_k r_k W_k'W_k (x - m_k)`, where r are the responsibilities."""
        white, heights = self._white(x)
        pull = torch.bmm(white * heights.softmax(0).unsqueeze(2), self.whitening).sum(0)
        return -heights.logsumexp(0), pull.view_as(x)

    def log_weights(self) -> Tensor:
        """`log w_k`, up to a constant that training may change."""
        log_det: Tensor = torch.linalg.slogdet(precise(self.whitening)).logabsdet.to(self.heights.dtype)
        return self.heights - log_det

    @torch.no_grad()
    def modes(self) -> tuple[Tensor, Tensor]:
        """Means `(K, d)` and weights `(K,)` of the components."""
        return self.means, self.log_weights().softmax(0)

    def log_z(self) -> Tensor:
        """`d/2 log 2 pi + log sum_k w_k`, differentiable in all parameters."""
        return self.means.shape[1] / 2 * log(2 * pi) + self.log_weights().logsumexp(0)

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Choose a component, then `m_k + W_k^-1 xi`."""
        k = torch.multinomial(self.log_weights().softmax(0), n, replacement=True, generator=rng)
        xi = torch.empty(n, self.means.shape[1], device=k.device, dtype=self.means.dtype).normal_(generator=rng)
        # Unchecked, because a check would synchronise with the host; a singular W gives samples that are not finite.
        inverse = torch.linalg.inv_ex(precise(self.whitening)).inverse.to(xi.dtype)
        x = self.means[k] + torch.einsum("nij,nj->ni", inverse[k], xi)
        return x.reshape(n, *self.event)

    @torch.no_grad()
    def noised(self, sigma: float) -> GaussianMixtureEnergy:
        """The distribution of `x + sigma xi`: every covariance increases by sigma^2 I, the weights do not change."""
        inverse = torch.linalg.inv(precise(self.whitening))
        covariances = inverse @ inverse.mT
        covariances.diagonal(dim1=1, dim2=2).add_(sigma**2)
        weights = self.log_weights().softmax(0)
        return GaussianMixtureEnergy(weights, self.means.clone(), covariances, self.event, self.means.dtype)
