"""The K divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.api import Bregman, component, torch

if TYPE_CHECKING:
    from torch import Tensor


@component("k_divergence")
class KDivergence(Bregman):
    """K divergence generator: the relative entropy of the model to its mixture with the noise, one half of each.

        psi(u) = u log(u / (1 + u))
        S0(u) = u / (1 + u),    S1(u) = log(u / (1 + u)) + 1 / (1 + u)

    Jensen-Shannon is the mean of it and its mirror image. S0 is bounded by 1: noise samples of a high ratio lose their
    influence, while data of a low one keep it as in `kl`.

    Reference: Lin, "Divergence measures based on the Shannon entropy", IEEE Trans. Inf. Theory 37, 1991.

    Example: objective: {use: bregman, generator: divergences.k_divergence}
    """

    def psi(self, u: Tensor) -> Tensor:
        return -u * torch.log1p(1 / u)
