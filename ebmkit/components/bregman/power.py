"""The generator of the power divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


@component("power")
class Power(Bregman):
    """Power (beta) divergence generator: robust, from `kl` (beta = 0) to twice `least_squares` (beta = 1).

        psi(u) = (u^(1 + beta) - u) / beta
        S0(u) = u^(1 + beta),    S1(u) = ((1 + beta) u^beta - 1) / beta

    The larger beta is, the lower the weight of data that are unlikely under the model: outliers are ignored.

    Parameters:
        beta: any positive number.

    Reference: Basu et al., "Robust and efficient estimation by minimising a density power divergence", Biometrika 85,
    1998; Gutmann and Hirayama, arXiv:1202.3727.

    Example: generator: {use: power, beta: 0.5}
    """

    beta: Annotated[float, Gt(0)] = 0.5

    def psi(self, u: Tensor) -> Tensor:
        return u * torch.expm1(self.beta * u.log()) / self.beta

    def s0(self, log_u: Tensor) -> Tensor:
        return ((1 + self.beta) * log_u).exp()

    def s1(self, log_u: Tensor) -> Tensor:
        # With expm1, because the difference would cancel for a small beta.
        return 1 + (1 + self.beta) / self.beta * torch.expm1(self.beta * log_u)
