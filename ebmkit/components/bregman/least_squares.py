"""The generator of least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman

if TYPE_CHECKING:
    from torch import Tensor


@component("least_squares")
class LeastSquares(Bregman):
    """Least-squares generator (LSIF): fits the ratio by least squares under the noise.

        psi(u) = u^2 / 2
        S0(u) = u^2 / 2,    S1(u) = u

    S0 grows as the square of the ratio, so that the noise must be at least as wide as the data.

    Reference: Kanamori, Hido and Sugiyama, "A least-squares approach to direct importance estimation", JMLR 10, 2009;
    Gutmann and Hirayama, arXiv:1202.3727.

    Example: generator: least_squares
    """

    def psi(self, u: Tensor) -> Tensor:
        return u.square() / 2

    def s0(self, log_u: Tensor) -> Tensor:
        return (2 * log_u).exp() / 2

    def s1(self, log_u: Tensor) -> Tensor:
        return log_u.exp()
