"""Adam."""

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


@component("adam")
class Adam(Optimizer):
    """Adam: gradient steps scaled by running first and second moments of the gradient.

        m' = b1 m + (1 - b1) g,    v' = b2 v + (1 - b2) g^2
        theta' = theta - lr m^ / (sqrt(v^) + eps),    m^, v^ corrected for their start at zero

    Parameters:
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the denominator to avoid division by zero.
        weight_decay: factor of an L2 penalty, added to the gradient.

    Reference: Kingma and Ba, arXiv:1412.6980.

    Example: optimizer: {use: adam, lr: 1e-4, betas: [0.0, 0.999]}
    """

    lr: Annotated[float, Gt(0)] = 1e-3
    betas: tuple[Annotated[float, Ge(0), Lt(1)], Annotated[float, Ge(0), Lt(1)]] = (0.9, 0.999)
    eps: Annotated[float, Gt(0)] = 1e-8
    weight_decay: Annotated[float, Ge(0)] = 0.0

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.Adam:
        parameters = list(parameters)
        return torch.optim.Adam(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            fused=fusible(parameters),
        )
