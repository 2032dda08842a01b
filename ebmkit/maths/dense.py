"""Fully connected layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.maths.activations import ACTIVATIONS
from ebmkit.maths.spectral import normalised

#: For each layer its weight, and the inputs and outputs of its activations.
Passed = list[tuple[Tensor, Tensor, Tensor]]


class Dense(nn.ModuleList):
    """Linear layers between consecutive `widths`, each followed by an activation."""

    def __init__(self, widths: Sequence[int], activation: str, power_iterations: int | None = None) -> None:
        super().__init__(normalised(nn.Linear(*step), power_iterations) for step in pairwise(widths))
        self.activation = activation

    def forward(self, h: Tensor) -> Tensor:
        function, _ = ACTIVATIONS[self.activation]
        for layer in self:
            h = function(layer(h))
        return h

    def climb(self, h: Tensor) -> tuple[Tensor, Passed]:
        """The forward pass, also returning what `descend` needs."""
        function, _ = ACTIVATIONS[self.activation]
        passed: Passed = []
        layer: Any  # linear, or with a spectral norm, whose weight changes with every access in training mode
        for layer in self:
            weight = layer.weight
            z = F.linear(h, weight, layer.bias)
            h = function(z)
            passed.append((weight, z, h))
        return h, passed

    def descend(self, gradient: Tensor, passed: Passed) -> Tensor:
        """From the gradient of the outputs to that of the inputs: chains need no graph and no weight gradients."""
        _, pullback = ACTIVATIONS[self.activation]
        while passed:  # the memory of each layer is freed as soon as it was used
            weight, z, h = passed.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = to_inputs(gradient, weight)
        return gradient


def to_inputs(gradient: Tensor, weight: Tensor) -> Tensor:
    """`gradient @ weight`. With few inputs it is up to five times faster on a CPU if the weights are transposed.

    Measured for 2 to 8 inputs; at 16 there is no difference.
    """
    if 1 < weight.shape[1] < 16:
        return F.linear(gradient, weight.T.contiguous())
    return gradient @ weight
