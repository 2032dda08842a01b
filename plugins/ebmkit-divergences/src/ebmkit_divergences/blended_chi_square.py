"""The blended weight chi-square divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Interval, component

if TYPE_CHECKING:
    from torch import Tensor


@component("blended_chi_square")
class BlendedChiSquare(Bregman):
    """Blended chi-square generator: between Pearson's and Neyman's, bounded and robust between the two.

        psi(u) = 1 / (2 a^2 d),    d = a u + 1 - a
        S0(u) = -(a u + d) / (2 a^2 d^2),    S1(u) = -1 / (2 a d^2)

    It is (u - 1)^2 / (2 d) up to a linear function, which changes nothing but constants of the loss. At a = 1/2 it is
    the triangular discrimination of Vincze and Le Cam, whose loss is the Brier score of the probability that a point is
    from the data; a = 1 is Neyman's chi-square, and a -> 0 `least_squares`. For a < 1 both S0 and S1 are bounded, and
    points of very high or very low ratio have no influence. psi''(1) = 1.

    Parameters:
        blend: a, from 0.05 to 1.

    Reference: Lindsay, "Efficiency versus robustness: the case for minimum Hellinger distance and related methods",
    Ann. Stat. 22, 1994; Topsoe, IEEE Trans. Inf. Theory 46, 2000.

    Example: objective: {use: bregman, generator: {use: divergences.blended_chi_square, blend: 0.5}}
    """

    blend: Annotated[float, Interval(ge=0.05, le=1)] = 0.5

    def psi(self, u: Tensor) -> Tensor:
        a = self.blend
        return 1 / (2 * a**2 * (a * u + (1 - a)))
