"""The fully connected energy network as a module."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.maths.dense import Dense, to_inputs
from ebmkit.maths.smoothness import BENDS, Bend, squared_lengths
from ebmkit.maths.spectral import normalised


class MLPEnergy(nn.Module):
    """`E(x) = f(x) + |x|^2 / (2 base_scale^2)` on flattened x.

    Second derivatives are computed forward through the layers. Only the activations are nonlinear, so with inputs z and
    outputs h of the units

        Hessian of f = sum over units  df/dh phi''(z) (dz/dx) (dz/dx)'

    whose trace, or quadratic form of vectors, needs only the lengths of dz/dx.
    """

    hidden: Dense

    def __init__(
        self,
        event: tuple[int, ...],
        hidden: Sequence[int],
        activation: str,
        base_scale: float | None,
        power_iterations: int | None = None,
    ) -> None:
        super().__init__()
        widths = [prod(event), *hidden]
        self.hidden = Dense(widths, activation, power_iterations)
        self.last: Any = normalised(nn.Linear(widths[-1], 1), power_iterations)
        self.base_precision = 0.0 if base_scale is None else base_scale**-2

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        energy: Tensor = self.last(self.hidden(flat)).squeeze(1)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
        return energy

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Forward pass and manual backward pass to x alone."""
        flat, weight = x.flatten(1), self.last.weight
        h, passed = self.hidden.climb(flat)
        energy = F.linear(h, weight, self.last.bias).squeeze(1)
        del h  # its memory is reused in the backward pass
        gradient = self.hidden.descend(weight.expand(len(flat), -1), passed)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * flat.square().sum(1)
            gradient = gradient + self.base_precision * flat  # without alpha: see `Splits` in chains/compiled.py
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
        """The weights of all layers, read once per pass: in training a spectral norm changes at every read."""
        return [layer.weight for layer in (*self.hidden, self.last)]

    def _bends(self, x: Tensor, weights: list[Any]) -> tuple[Tensor, list[Bend]]:
        """`E`, and the activations of every hidden layer."""
        function, bends = BENDS[self.hidden.activation], []
        flat = h = x.flatten(1)
        layer: Any  # linear, with or without a spectral norm
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
        """`dE/dx`, and the sum over units for the given squared lengths of dz/dx, and of dx/dx."""
        flat = x.flatten(1)
        *weights, last = weights
        gradient = last.expand(len(flat), -1)
        second = self.base_precision * (flat.new_full((len(flat),), flat.shape[1]) if length is None else length)
        for weight, bend, squared in zip(*map(reversed, (weights, bends, lengths)), strict=True):
            second = second + (gradient * bend.curvature * squared).sum(1)
            gradient = to_inputs(gradient * bend.slope, weight)
        if self.base_precision:
            gradient = gradient + self.base_precision * flat
        return gradient.view_as(x), second
