"""Adamax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("adamax")
class Adamax(Optimizer):
    """Adamax: Adam with the infinity norm in place of the second moment.

        u' = max(b2 u, |g| + eps),    theta' = theta - lr m^ / u'

    Parameters:
        lr: learning rate.
        betas: decay of the running mean of the gradient and of its running maximum.
        eps: added to the absolute gradient to avoid division by zero.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Kingma and Ba, arXiv:1412.6980, section 7.

    Example: optimizer: {use: adamax, lr: 2e-3}
    """

    lr: Annotated[float, Gt(0)] = 2e-3
    betas: tuple[Annotated[float, Ge(0), Lt(1)], Annotated[float, Ge(0), Lt(1)]] = (0.9, 0.999)
    eps: Annotated[float, Gt(0)] = 1e-8
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.Adamax:
        return torch.optim.Adamax(
            parameters, lr=self.lr, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay
        )
