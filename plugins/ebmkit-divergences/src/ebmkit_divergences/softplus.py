"""The dual bit entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Interval, component, torch

if TYPE_CHECKING:
    from torch import Tensor


@component("softplus")
class Softplus(Bregman):
    """Softplus (dual bit entropy) generator: the conjugate of the bit entropy, bounded, with logistic slopes.

        psi(u) = log(1 + exp(-c u))
        S0(u) = -c u s - psi(u),    S1(u) = -c s,    s = 1 / (1 + exp(c u))

    Least squares for ratios far below 1/c, and no influence of ratios far above. S0 lies between -log 2 and 0, S1
    between -c/2 and 0.

    Parameters:
        rate: c, from 0.01 to 100.

    Reference: Nielsen and Nock, "Sided and symmetrized Bregman centroids", IEEE Trans. Inf. Theory 55, 2009.

    Example: objective: {use: bregman, generator: {use: divergences.softplus, rate: 0.5}}
    """

    rate: Annotated[float, Interval(ge=0.01, le=100)] = 1.0

    def psi(self, u: Tensor) -> Tensor:
        return torch.nn.functional.softplus(-self.rate * u)
