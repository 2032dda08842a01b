"""A classifier as an energy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, Protocol

from torch import Tensor, nn

from ebmkit.nets.mlp import ACTIVATIONS


class Classifying(Protocol):
    """A module that offers `logits`."""

    def logits(self, x: Tensor) -> Tensor: ...


class ClassifierEnergy(nn.Module):
    """`E(x) = -log sum_y exp f(x)[y] + |x|^2 / (2 base_scale^2)` on flattened x."""

    def __init__(
        self, event: tuple[int, ...], classes: int, hidden: Sequence[int], activation: str, base_scale: float | None
    ) -> None:
        super().__init__()
        widths = [prod(event), *hidden, classes]
        *hidden_layers, last = (nn.Linear(before, after) for before, after in pairwise(widths))
        self.hidden = nn.ModuleList(hidden_layers)
        self.last = last
        self.activation = activation
        self.base_precision = 0.0 if base_scale is None else base_scale**-2

    def logits(self, x: Tensor) -> Tensor:
        """f(x), of which the softmax is p(y | x): the base is the same for all classes, and falls out."""
        function, _ = ACTIVATIONS[self.activation]
        h = x.flatten(1)
        for layer in self.hidden:
            h = function(layer(h))
        logits: Tensor = self.last(h)
        return logits

    def forward(self, x: Tensor) -> Tensor:
        energy = -self.logits(x).logsumexp(1)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * x.flatten(1).square().sum(1)
        return energy

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Forward and, by hand, backward to x alone: dE/df = -softmax(f)."""
        function, pullback = ACTIVATIONS[self.activation]
        flat = h = x.flatten(1)
        passed: list[tuple[Any, Tensor, Tensor]] = []
        for layer in self.hidden:
            z = layer(h)
            h = function(z)
            passed.append((layer.weight, z, h))
        logits: Tensor = self.last(h)
        energy = -logits.logsumexp(1)
        gradient = -(logits.softmax(1) @ self.last.weight)
        while passed:  # each layer's memory goes as soon as it was used
            weight, z, h = passed.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = gradient @ weight
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
            gradient = gradient + self.base_precision * flat  # without alpha: see `Splits` in engine/compiled.py
        return energy, gradient.view_as(x)
