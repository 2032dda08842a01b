"""Mixtures of Shannon's and Burg's entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Gt, Lt, component

if TYPE_CHECKING:
    from torch import Tensor


@component("jeffreys")
class Jeffreys(Bregman):
    """Jeffreys generator: a mixture of Shannon's and Burg's entropy, of `kl` and `itakura_saito`.

        psi(u) = ((1 - w) u - w) log u
        S0(u) = w (log u - 1) + (1 - w) u,    S1(u) = (1 - w) (log u + 1) - w/u

    At w = 1/2 it is half of Jeffreys' divergence, the sum of the relative entropies in both directions: high ratios
    count as in `kl`, low ones as in `itakura_saito`. psi''(1) = 1.

    Parameters:
        weight: w, that of Burg's entropy.

    Reference: Jeffreys, "An invariant form for the prior probability in estimation problems", Proc. R. Soc. A 186,
    1946.

    Example: objective: {use: bregman, generator: {use: divergences.jeffreys, weight: 0.1}}
    """

    weight: Annotated[float, Gt(0), Lt(1)] = 0.5

    def psi(self, u: Tensor) -> Tensor:
        return ((1 - self.weight) * u - self.weight) * u.log()
