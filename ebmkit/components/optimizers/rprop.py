"""Resilient propagation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Optimizer
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch.nn import Parameter


@component("rprop")
class Rprop(Optimizer):
    """Rprop: steps along the sign of the gradient, which grow while the sign stays the same; for full batches.

        size' = size * (etas[1] if sign(g) = sign(g before) else etas[0]),    theta' = theta - sign(g) size'

    Parameters:
        lr: size of the first step.
        etas: factors by which a step shrinks and grows.
        step_sizes: the smallest and the largest step.

    Reference: Riedmiller and Braun, IEEE International Conference on Neural Networks, 1993.

    Example: optimizer: {use: rprop, lr: 0.01}
    """

    lr: Annotated[float, Gt(0)] = 1e-2
    etas: tuple[Annotated[float, Gt(0), Lt(1)], Annotated[float, Gt(1)]] = (0.5, 1.2)
    step_sizes: tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]] = (1e-6, 50.0)

    def __post_init__(self) -> None:
        if self.step_sizes[0] > self.step_sizes[1]:
            raise ValueError(
                f"'step_sizes': the minimum, {self.step_sizes[0]}, is above the maximum, {self.step_sizes[1]}"
            )

    def build(self, parameters: Iterable[Parameter]) -> torch.optim.Rprop:
        return torch.optim.Rprop(parameters, lr=self.lr, etas=self.etas, step_sizes=self.step_sizes)
