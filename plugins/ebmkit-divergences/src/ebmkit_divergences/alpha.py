"""The alpha family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Interval, component
from ebmkit_divergences.quotient import expm1_quotient

if TYPE_CHECKING:
    from torch import Tensor


@component("alpha")
class Alpha(Bregman):
    """Alpha (power divergence) generator for any real alpha, normalised to psi''(1) = 1.

        psi(u) = (u^alpha - alpha u + alpha - 1) / (alpha (alpha - 1))
        S0(u) = (u^alpha - 1) / alpha,    S1(u) = (u^(alpha - 1) - 1) / (alpha - 1)

    With the limits u log u - u + 1 at alpha = 1 and u - log u - 1 at alpha = 0. The built-in generators are members, up
    to a factor and a linear function: `itakura_saito` 0, `hellinger` 1/2, `kl` 1, `power` 1 + beta, `least_squares` 2;
    -1 is Neyman's chi-square. In the gradient a noise sample has the weight u^alpha and a data point u^(alpha - 1): a
    large alpha follows the highest ratios, a negative one the lowest.

    Parameters:
        alpha: from -9 to 10, beyond which ratios of 1e-30 and 1e30 overflow in float64; in float32 from -0.2 to 1.2.

    Reference: Cressie and Read, J. R. Stat. Soc. B 46, 1984; Amari, "alpha-divergence is unique", IEEE Trans. Inf.
    Theory 55, 2009.

    Example: objective: {use: bregman, generator: {use: divergences.alpha, alpha: -0.5}}
    """

    alpha: Annotated[float, Interval(ge=-9, le=10)] = 0.5

    def psi(self, u: Tensor) -> Tensor:
        a, log_u = self.alpha, u.log()
        if a < 0.5:  # two ways to write the same: this one has a pole at 1 only, the other one at 0 only
            return (u - 1 - expm1_quotient(a, log_u)) / (1 - a)
        return (u * expm1_quotient(a - 1, log_u) - (u - 1)) / a

    def s0(self, log_u: Tensor) -> Tensor:
        return expm1_quotient(self.alpha, log_u)

    def s1(self, log_u: Tensor) -> Tensor:
        return expm1_quotient(self.alpha - 1, log_u)
