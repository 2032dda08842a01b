"""RMSProp."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("rmsprop")
class RMSprop(Optimizer):
    """RMSprop: gradient steps scaled by the running root mean square of the gradient.

        v' = alpha v + (1 - alpha) g^2,    b' = momentum b + g / (sqrt(v') + eps),    theta' = theta - lr b'

    Parameters:
        lr: learning rate.
        alpha: decay of the running mean of the squared gradient.
        eps: added to the denominator to avoid division by zero.
        momentum: decay of the running sum of scaled gradients.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Hinton, lecture 6e of "Neural networks for machine learning", 2012.

    Example: optimizer: {use: rmsprop, lr: 1e-3}
    """

    lr: Annotated[float, Gt(0)] = 1e-3
    alpha: Annotated[float, Ge(0), Lt(1)] = 0.99
    eps: Annotated[float, Gt(0)] = 1e-8
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def state_count(self) -> int:
        return 1 + (self.momentum > 0)

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.RMSprop:
        return torch.optim.RMSprop(
            parameters,
            lr=self.lr,
            alpha=self.alpha,
            eps=self.eps,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )
