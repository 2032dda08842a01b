"""The arithmetic-geometric mean divergence."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from ebmkit.api import Bregman, component, torch

if TYPE_CHECKING:
    from torch import Tensor


@component("arithmetic_geometric")
class ArithmeticGeometric(Bregman):
    """Arithmetic-geometric generator: the relative entropy of the arithmetic to the geometric mean of two densities.

        psi(u) = (1 + u)/2 log((1 + u) / (2 sqrt(u)))
        S0(u) = (u - 1)/4 - L/2,    S1(u) = (1 - 1/u)/4 + L/2,    L = log((1 + u) / (2 sqrt(u)))

    It grows like u log u for high ratios and like -log u for low ones: both are penalised, symmetrically in model and
    noise.

    Reference: Taneja, "New developments in generalized information measures", Adv. Imaging Electron Phys. 91, 1995.

    Example: objective: {use: bregman, generator: divergences.arithmetic_geometric}
    """

    def psi(self, u: Tensor) -> Tensor:
        return (1 + u) / 2 * (torch.log1p(u) - u.log() / 2 - log(2))
