"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.components.optimizers.fused import fusible
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("sgd")
class SGD(Optimizer):
    """Stochastic gradient descent (SGD) with optional momentum.

        b' = momentum b + g,    theta' = theta - lr b'
        nesterov:                theta' = theta - lr (g + momentum b')

    Parameters:
        lr: learning rate.
        momentum: decay of the running sum of gradients; 0 is plain descent.
        nesterov: evaluate ahead along the momentum (Nesterov); needs a momentum.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013.

    Example: optimizer: {use: sgd, lr: 0.01, momentum: 0.9, nesterov: true}
    """

    lr: Annotated[float, Gt(0)] = 1e-2
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    nesterov: bool = False
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def __post_init__(self) -> None:
        if self.nesterov and self.momentum == 0:
            raise ValueError("'nesterov' needs a momentum, but 'momentum' is 0")

    def state_count(self) -> int:
        return int(self.momentum > 0)

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.SGD:
        parameters = list(parameters)
        return torch.optim.SGD(
            parameters,
            lr=self.lr,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
            fused=fusible(parameters),
        )
