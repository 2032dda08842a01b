"""The Itakura-Saito divergence for ebmkit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Bregman, Gt, component, torch

if TYPE_CHECKING:
    from torch import Tensor

#: The version of `ebmkit.api` that this was written for.
EBMKIT_API = 1


@component("itakura_saito")
class ItakuraSaito(Bregman):
    """The Itakura-Saito divergence, which weighs relative rather than absolute errors of the density ratio.

        psi(u) = -log(u + eps)

    Parameters:
        eps: keeps psi and its slope finite where the ratio vanishes.

    Reference: Gutmann and Hirayama, arXiv:1202.3727.

    Example: objective: {use: bregman, generator: {use: itakura.itakura_saito, eps: 1e-3}}
    """

    eps: Annotated[float, Gt(0)] = 1e-6

    def psi(self, u: Tensor) -> Tensor:
        return -torch.log(u + self.eps)
