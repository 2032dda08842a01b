"""Fully connected layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the name everybody uses

from ebmkit.maths.activations import ACTIVATIONS
from ebmkit.maths.spectral import normalised

#: Of each layer its weight, what went into its units, and what came out of them.
Passed = list[tuple[Tensor, Tensor, Tensor]]


class Dense(nn.ModuleList):
    """Linear layers with an activation behind each, as many as there are steps from one of `widths` to the next."""

    def __init__(self, widths: Sequence[int], activation: str, power_iterations: int | None = None) -> None:
        super().__init__(normalised(nn.Linear(*step), power_iterations) for step in pairwise(widths))
        self.activation = activation

    def forward(self, h: Tensor) -> Tensor:
        function, _ = ACTIVATIONS[self.activation]
        for layer in self:
            h = function(layer(h))
        return h

    def climb(self, h: Tensor) -> tuple[Tensor, Passed]:
        """The same, and what the way back needs."""
        function, _ = ACTIVATIONS[self.activation]
        passed: Passed = []
        layer: Any  # linear, or that with a spectral norm, whose weight moves each time that it is asked in training
        for layer in self:
            weight = layer.weight
            z = F.linear(h, weight, layer.bias)
            h = function(z)
            passed.append((weight, z, h))
        return h, passed

    def descend(self, gradient: Tensor, passed: Passed) -> Tensor:
        """From the gradient in what came out to that in what went in: a chain needs no graph and no weight gradient."""
        _, pullback = ACTIVATIONS[self.activation]
        while passed:  # each layer's memory goes as soon as it was used
            weight, z, h = passed.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = to_inputs(gradient, weight)
        return gradient


def to_inputs(gradient: Tensor, weight: Tensor) -> Tensor:
    """`gradient @ weight`. To few inputs a CPU's product takes up to five times as long unless the weights are turned.

    Measured from 2 to 8 inputs; at 16 it makes no difference.
    """
    if 1 < weight.shape[1] < 16:
        return F.linear(gradient, weight.T.contiguous())
    return gradient @ weight
