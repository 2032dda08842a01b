"""A classifier as an energy, as a module."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch import Tensor, nn

from ebmkit.maths.dense import Dense


class ClassifierEnergy(nn.Module):
    """`E(x) = -log sum_y exp f(x)[y] + |x|^2 / (2 base_scale^2)` on flattened x."""

    def __init__(
        self, event: tuple[int, ...], classes: int, hidden: Sequence[int], activation: str, base_scale: float | None
    ) -> None:
        super().__init__()
        widths = [prod(event), *hidden]
        self.hidden = Dense(widths, activation)
        self.last = nn.Linear(widths[-1], classes)
        self.base_precision = 0.0 if base_scale is None else base_scale**-2

    def logits(self, x: Tensor) -> Tensor:
        """f(x), whose softmax is p(y | x): the base is the same for all classes and cancels."""
        logits: Tensor = self.last(self.hidden(x.flatten(1)))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        energy = -self.logits(x).logsumexp(1)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * x.flatten(1).square().sum(1)
        return energy

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Forward pass and manual backward pass to x alone: dE/df = -softmax(f)."""
        flat = x.flatten(1)
        h, passed = self.hidden.climb(flat)
        logits: Tensor = self.last(h)
        energy = -logits.logsumexp(1)
        gradient = self.hidden.descend(-(logits.softmax(1) @ self.last.weight), passed)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
            gradient = gradient + self.base_precision * flat  # without alpha: see `Splits` in chains/compiled.py
        return energy, gradient.view_as(x)
