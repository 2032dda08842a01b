"""Adadelta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("adadelta")
class Adadelta(Optimizer):
    """Adadelta: gradient steps scaled by the ratio of running means of earlier steps and gradients.

        v' = rho v + (1 - rho) g^2,    step = g sqrt(d + eps) / sqrt(v' + eps)
        d' = rho d + (1 - rho) step^2,    theta' = theta - lr step

    Parameters:
        lr: factor of the step; 1 is the published method.
        rho: decay of both running means.
        eps: makes the first steps nonzero and keeps the quotient finite.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Zeiler, arXiv:1212.5701.

    Example: optimizer: {use: adadelta, lr: 1.0}
    """

    lr: Annotated[float, Gt(0)] = 1.0
    rho: Annotated[float, Ge(0), Lt(1)] = 0.9
    eps: Annotated[float, Gt(0)] = 1e-6
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.Adadelta:
        return torch.optim.Adadelta(parameters, lr=self.lr, rho=self.rho, eps=self.eps, weight_decay=self.weight_decay)
