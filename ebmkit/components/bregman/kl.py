"""The generator of the Kullback-Leibler divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


@component("kl")
class KullbackLeibler(Bregman):
    """Kullback-Leibler generator: maximum likelihood with a normaliser estimated by importance sampling.

        psi(u) = u log u
        S0(u) = u,    S1(u) = 1 + log u

    S0 grows as the ratio itself: a few noise samples that are far more likely under the model than under the noise
    dominate all others.

    Reference: Gutmann and Hirayama, "Bregman divergence as general framework to estimate unnormalized statistical
    models", arXiv:1202.3727.

    Example: generator: kl
    """

    def psi(self, u: Tensor) -> Tensor:
        return torch.xlogy(u, u)

    def s0(self, log_u: Tensor) -> Tensor:
        return log_u.exp()

    def s1(self, log_u: Tensor) -> Tensor:
        return 1 + log_u
