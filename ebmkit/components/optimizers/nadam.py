"""Nesterov Adam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("nadam")
class NAdam(Optimizer):
    """NAdam: Adam with Nesterov momentum.

        theta' = theta - lr (mu' m + (1 - mu) g) / (sqrt(v^) + eps),    both terms corrected for their start at zero
        mu_t = b1 (1 - 1/2 0.96^(t momentum_decay)),    mu' = mu_(t+1)

    Parameters:
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the denominator to avoid division by zero.
        weight_decay: factor of an L2 penalty, added to the gradient.
        momentum_decay: how fast the momentum approaches its final value.

    Reference: Dozat, "Incorporating Nesterov momentum into Adam", ICLR workshop 2016.

    Example: optimizer: {use: nadam, lr: 2e-3}
    """

    lr: Annotated[float, Gt(0)] = 2e-3
    betas: tuple[Annotated[float, Ge(0), Lt(1)], Annotated[float, Ge(0), Lt(1)]] = (0.9, 0.999)
    eps: Annotated[float, Gt(0)] = 1e-8
    weight_decay: Annotated[float, Ge(0)] = 0.0
    momentum_decay: Annotated[float, Ge(0)] = 4e-3

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.NAdam:
        return torch.optim.NAdam(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            momentum_decay=self.momentum_decay,
        )
