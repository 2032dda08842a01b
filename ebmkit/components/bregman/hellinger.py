"""The generator of the Hellinger distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman

if TYPE_CHECKING:
    from torch import Tensor


@component("hellinger")
class Hellinger(Bregman):
    """Hellinger generator: square roots of the ratio, which treat large and small ratios symmetrically.

        psi(u) = -2 sqrt(u)
        S0(u) = sqrt(u),    S1(u) = -1 / sqrt(u)

    At the optimal log Z the loss is twice the geometric mean of E_noise sqrt(u) and E_data 1/sqrt(u).

    Reference: Uehara, Matsuda and Komaki, "Analysis of noise contrastive estimation from the perspective of asymptotic
    variance", arXiv:1808.07983; Gutmann and Hirayama, arXiv:1202.3727.

    Example: generator: hellinger
    """

    def psi(self, u: Tensor) -> Tensor:
        return -2 * u.sqrt()

    def s0(self, log_u: Tensor) -> Tensor:
        return (log_u / 2).exp()

    def s1(self, log_u: Tensor) -> Tensor:
        return -(-log_u / 2).exp()
