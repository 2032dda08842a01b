"""The multilayer perceptron as a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the name everybody uses

from ebmkit.nets.bends import BENDS, Bend, squared_lengths

aten = torch.ops.aten

#: The function, and its vector-Jacobian product `(gradient, input, output)` in one kernel and the memory of the output.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor, Tensor], Tensor]]] = {
    "silu": (F.silu, lambda g, z, a: aten.silu_backward.grad_input(g, z, grad_input=a)),
    "softplus": (F.softplus, lambda g, z, a: aten.softplus_backward.grad_input(g, z, 1, 20, grad_input=a)),
    "gelu": (F.gelu, lambda g, z, a: aten.gelu_backward.grad_input(g, z, grad_input=a)),
    "tanh": (torch.tanh, lambda g, z, a: aten.tanh_backward.grad_input(g, a, grad_input=a)),
    "relu": (F.relu, lambda g, z, a: aten.threshold_backward.grad_input(g, a, 0, grad_input=a)),
}


class MLPEnergy(nn.Module):
    """`E(x) = f(x) + |x|^2 / (2 base_scale^2)` on flattened x.

    Second derivatives are pushed forward through the layers. Only activations bend, so that with z what goes into the
    units and h what comes out of them

        Hessian of f = sum over units  df/dh phi''(z) (dz/dx) (dz/dx)'

    of which a trace or a product with vectors needs no more than the lengths of dz/dx.
    """

    def __init__(
        self, event: tuple[int, ...], hidden: Sequence[int], activation: str, base_scale: float | None
    ) -> None:
        super().__init__()
        widths = [prod(event), *hidden, 1]
        *hidden_layers, last = (nn.Linear(before, after) for before, after in pairwise(widths))
        self.hidden = nn.ModuleList(hidden_layers)
        self.last = last
        self.activation = activation
        self.base_precision = 0.0 if base_scale is None else base_scale**-2

    def forward(self, x: Tensor) -> Tensor:
        function, _ = ACTIVATIONS[self.activation]
        flat = h = x.flatten(1)
        for layer in self.hidden:
            h = function(layer(h))
        energy: Tensor = self.last(h).squeeze(1)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
        return energy

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Forward and, by hand, backward to x alone: a chain needs no graph and no weight gradient."""
        function, pullback = ACTIVATIONS[self.activation]
        flat = h = x.flatten(1)
        passed: list[tuple[Any, Tensor, Tensor]] = []
        for layer in self.hidden:
            z = layer(h)
            h = function(z)
            passed.append((layer.weight, z, h))
        energy: Tensor = self.last(h).squeeze(1)
        gradient = self.last.weight.expand(len(h), -1)
        while passed:  # each layer's memory goes as soon as it was used
            weight, z, h = passed.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = gradient @ weight
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
            gradient = gradient + self.base_precision * flat  # without alpha: see `Splits` in engine/compiled.py
        return energy, gradient.view_as(x)

    def laplacian(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`E`, `dE/dx` and the trace of the Hessian `(B,)`, all differentiable in the parameters."""
        weights = self._weights()
        energy, bends = self._bends(x, weights)
        return energy, *self._second(x, weights, bends, squared_lengths(weights[:-1], bends))

    def curvature(self, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`E`, `dE/dx` and the mean of `v'Hv` over directions v `(K, B, *event)`, differentiable in the parameters."""
        weights = self._weights()
        energy, bends = self._bends(x, weights)
        lengths, tangent = [], v.flatten(2)
        for weight, bend in zip(weights[:-1], bends, strict=True):
            tangent = F.linear(tangent, weight)
            lengths.append(tangent.square().mean(0))
            tangent = tangent * bend.slope
        return energy, *self._second(x, weights, bends, lengths, v.flatten(2).square().sum(2).mean(0))

    def _weights(self) -> list[Any]:
        """Of every layer, read once for a pass: a spectral norm moves each time that it is asked in training."""
        return [layer.weight for layer in (*self.hidden, self.last)]

    def _bends(self, x: Tensor, weights: list[Any]) -> tuple[Tensor, list[Bend]]:
        """`E`, and every hidden layer's activations."""
        function, bends = BENDS[self.activation], []
        flat = h = x.flatten(1)
        layer: Any  # linear, or that with a spectral norm
        for layer, weight in zip(self.hidden, weights[:-1], strict=True):
            bends.append(function(F.linear(h, weight, layer.bias)))
            h = bends[-1].value
        energy: Tensor = F.linear(h, weights[-1], self.last.bias).squeeze(1)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
        return energy, bends

    def _second(
        self, x: Tensor, weights: list[Any], bends: list[Bend], lengths: list[Tensor], length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`dE/dx`, and the sum over units for the squared lengths of dz/dx, and of dx/dx, that are given."""
        flat = x.flatten(1)
        *weights, last = weights
        gradient = last.expand(len(flat), -1)
        second = self.base_precision * (flat.new_full((len(flat),), flat.shape[1]) if length is None else length)
        for weight, bend, squared in zip(*map(reversed, (weights, bends, lengths)), strict=True):
            second = second + (gradient * bend.curvature * squared).sum(1)
            gradient = (gradient * bend.slope) @ weight
        if self.base_precision:
            gradient = gradient + self.base_precision * flat
        return gradient.view_as(x), second
