"""The perimeter-type family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Interval, component, torch
from ebmkit_divergences.quotient import expm1_quotient

if TYPE_CHECKING:
    from torch import Tensor


@component("perimeter")
class Perimeter(Bregman):
    """Perimeter-type generator of Oesterreicher and Vajda: from Hellinger over Jensen-Shannon to the spherical score.

        psi(u) = ((1 + u^beta)^(1/beta) - 1 - u) / k,    k = 1 - 1/beta
        S0(u) = (1 - (1 + u^beta)^-k) / k,    S1(u) = ((1 + u^-beta)^-k - 1) / k

    With the limit `logistic` (Jensen-Shannon, the loss of noise-contrastive estimation) at beta = 1; beta = 1/2 is
    `hellinger`, and beta = 2 the spherical score. For beta > 1 both S0 and S1 are bounded, so that no outlier and no
    noise sample has more than a bounded influence on the loss. psi''(1) = beta 2^(1/beta - 2).

    Parameters:
        beta: from 0.25 to 4.

    Reference: Oesterreicher and Vajda, "A new class of metric divergences on probability spaces and its applicability
    in statistics", Ann. Inst. Stat. Math. 55, 2003; for scores Gneiting and Raftery, J. Am. Stat. Assoc. 102, 2007.

    Example: objective: {use: bregman, generator: {use: divergences.perimeter, beta: 2.0}}
    """

    beta: Annotated[float, Interval(ge=0.25, le=4)] = 2.0

    @property
    def k(self) -> float:
        """The exponent of the formulas."""
        return 1 - 1 / self.beta

    def psi(self, u: Tensor) -> Tensor:
        # (1 + u^beta)^(1/beta) = u (1 + u^-beta)^-k + (1 + u^beta)^-k
        return -u * expm1_quotient(-self.k, self._softplus(-u.log())) - expm1_quotient(-self.k, self._softplus(u.log()))

    def s0(self, log_u: Tensor) -> Tensor:
        return expm1_quotient(-self.k, self._softplus(log_u))

    def s1(self, log_u: Tensor) -> Tensor:
        return -expm1_quotient(-self.k, self._softplus(-log_u))

    def _softplus(self, log_u: Tensor) -> Tensor:
        """log(1 + u^beta)."""
        return torch.nn.functional.softplus(self.beta * log_u)
