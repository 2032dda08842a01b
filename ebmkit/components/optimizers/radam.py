"""Rectified Adam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("radam")
class RAdam(Optimizer):
    """RAdam: Adam with rectified variance of the first steps, which replaces a warm-up.

        theta' = theta - lr r_t m^ / (sqrt(v^) + eps)    once r_t, the rectification, is defined
        theta' = theta - lr m^                           before

    Parameters:
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the denominator to avoid division by zero.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Liu et al., arXiv:1908.03265.

    Example: optimizer: {use: radam, lr: 1e-3}
    """

    lr: Annotated[float, Gt(0)] = 1e-3
    betas: tuple[Annotated[float, Ge(0), Lt(1)], Annotated[float, Ge(0), Lt(1)]] = (0.9, 0.999)
    eps: Annotated[float, Gt(0)] = 1e-8
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.RAdam:
        return torch.optim.RAdam(parameters, lr=self.lr, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay)
