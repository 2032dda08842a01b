"""The kappa entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Gt, Lt, component, torch

if TYPE_CHECKING:
    from torch import Tensor


@component("kaniadakis")
class Kaniadakis(Bregman):
    """Kaniadakis (kappa entropy) generator: `kl` with power-law tails on both sides.

        psi(u) = u log_kappa(u),    log_kappa(u) = (u^kappa - u^-kappa) / (2 kappa)
        S0(u) = u c,    S1(u) = log_kappa(u) + c,    c = (u^kappa + u^-kappa) / 2

    The entropy of relativistic statistical mechanics. kappa -> 0 is `kl`, also in the middle at any kappa; ratios far
    from 1 in either direction count more than there. psi''(1) = 1.

    Parameters:
        kappa: between 0 and 1.

    Reference: Kaniadakis, "Statistical mechanics in the context of special relativity", Phys. Rev. E 66, 2002.

    Example: objective: {use: bregman, generator: {use: divergences.kaniadakis, kappa: 0.3}}
    """

    kappa: Annotated[float, Gt(0), Lt(1)] = 0.25

    def psi(self, u: Tensor) -> Tensor:
        return u * torch.sinh(self.kappa * u.log()) / self.kappa
