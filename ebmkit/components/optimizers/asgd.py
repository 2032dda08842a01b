"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("asgd")
class ASGD(Optimizer):
    """Averaged stochastic gradient descent (ASGD) with a decreasing learning rate.

        theta' = (1 - lambd eta_t) theta - eta_t g,    eta_t = lr / (1 + lambd lr t)^alpha

    torch stores the average separately and never copies it into the weights: to sample from averaged weights, set `ema`
    in the `train` section.

    Parameters:
        lr: learning rate.
        lambd: rate of the decrease, and of the decay towards zero.
        alpha: exponent of the decrease.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Polyak and Juditsky, SIAM Journal on Control and Optimization 30, 1992.

    Example: optimizer: {use: asgd, lr: 0.01}
    """

    lr: Annotated[float, Gt(0)] = 1e-2
    lambd: Annotated[float, Ge(0)] = 1e-4
    alpha: Annotated[float, Ge(0)] = 0.75
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def state_count(self) -> int:
        return 1

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.ASGD:
        return torch.optim.ASGD(
            parameters, lr=self.lr, lambd=self.lambd, alpha=self.alpha, weight_decay=self.weight_decay
        )
