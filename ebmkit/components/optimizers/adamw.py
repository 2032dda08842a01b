"""Adam with decoupled weight decay."""

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


@component("adamw")
class AdamW(Optimizer):
    """AdamW: Adam with decoupled weight decay.

        theta' = (1 - lr weight_decay) theta - lr m^ / (sqrt(v^) + eps)

    Parameters:
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the denominator to avoid division by zero.
        weight_decay: factor of the decay towards zero, which is independent of the gradient (decoupled).

    Reference: Loshchilov and Hutter, arXiv:1711.05101.

    Example: optimizer: {use: adamw, lr: 1e-3, weight_decay: 0.01}
    """

    lr: Annotated[float, Gt(0)] = 1e-3
    betas: tuple[Annotated[float, Ge(0), Lt(1)], Annotated[float, Ge(0), Lt(1)]] = (0.9, 0.999)
    eps: Annotated[float, Gt(0)] = 1e-8
    weight_decay: Annotated[float, Ge(0)] = 0.01

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.AdamW:
        parameters = list(parameters)
        return torch.optim.AdamW(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            fused=fusible(parameters),
        )
