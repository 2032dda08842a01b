"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("adagrad")
class Adagrad(Optimizer):
    """Adagrad: gradient steps scaled by the sum of all squared gradients.

        s' = s + g^2,    theta' = theta - lr g / (sqrt(s') + eps)

    Parameters:
        lr: learning rate.
        eps: added to the denominator to avoid division by zero.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Duchi, Hazan and Singer, JMLR 12, 2011.

    Example: optimizer: {use: adagrad, lr: 0.01}
    """

    lr: Annotated[float, Gt(0)] = 1e-2
    eps: Annotated[float, Gt(0)] = 1e-10
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def state_count(self) -> int:
        return 1

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.Adagrad:
        return torch.optim.Adagrad(parameters, lr=self.lr, eps=self.eps, weight_decay=self.weight_decay)
