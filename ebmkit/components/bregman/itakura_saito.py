"""The generator of the Itakura-Saito divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman

if TYPE_CHECKING:
    from torch import Tensor


@component("itakura_saito")
class ItakuraSaito(Bregman):
    """Itakura-Saito generator: scale-invariant, the divergence of two ratios depends on their quotient only.

        psi(u) = -log u
        S0(u) = log u - 1,    S1(u) = -1 / u

    S1 grows as the inverse of the ratio: data that are unlikely under the model have a large gradient.

    Reference: Itakura and Saito, "Analysis synthesis telephony based on the maximum likelihood method", ICA 1968;
    Gutmann and Hirayama, arXiv:1202.3727.

    Example: generator: itakura_saito
    """

    def psi(self, u: Tensor) -> Tensor:
        return -u.log()

    def s0(self, log_u: Tensor) -> Tensor:
        return log_u - 1

    def s1(self, log_u: Tensor) -> Tensor:
        return -(-log_u).exp()
