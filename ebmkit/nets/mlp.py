"""The multilayer perceptron as a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the name everybody uses

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
    """`E(x) = f(x) + |x|^2 / (2 base_scale^2)` on flattened x."""

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
