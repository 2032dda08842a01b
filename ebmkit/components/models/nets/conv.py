"""The convolutional energy network as a module."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.chains.private_torch import convolution_pullback
from ebmkit.components.models.conv_layers import Architecture, shape_after
from ebmkit.maths.activations import ACTIVATIONS
from ebmkit.maths.dense import Dense
from ebmkit.maths.spectral import SpectralNorm, normalised

#: Gradient of a convolution with respect to its input.
_to_input = convolution_pullback()


class ConvEnergy(nn.Module):
    """`E(x) = f(x) + |x|^2 / (2 base_scale^2)` on images. With `power_iterations` None there is no spectral norm."""

    def __init__(
        self,
        event: tuple[int, ...],
        architecture: Architecture,
        head: str,
        activation: str,
        power_iterations: int | None,
        base_scale: float | None,
        outputs: int = 1,
    ) -> None:
        super().__init__()
        last_channels, height, width = shape_after(architecture.layers, event)
        channels = [event[0], *(layer.channels for layer in architecture.layers)]
        widths = [last_channels * (1 if head == "sum" else height * width), *architecture.dense]

        self.convolutions = nn.ModuleList(
            normalised(nn.Conv2d(before, layer.channels, layer.kernel, layer.stride, layer.padding), power_iterations)
            for before, layer in zip(channels[:-1], architecture.layers, strict=True)
        )
        self.dense = Dense(widths, activation, power_iterations)
        self.last = normalised(nn.Linear(widths[-1], outputs), power_iterations)
        self.head = head
        self.activation = activation
        self.base_precision = 0.0 if base_scale is None else base_scale**-2

    def features(self, x: Tensor) -> Tensor:
        """The input of the last layer, `(B, width)`."""
        function, _ = ACTIVATIONS[self.activation]
        h = x
        for convolution in self.convolutions:
            h = function(convolution(h))
        h = h.sum((2, 3)) if self.head == "sum" else h.flatten(1)
        features: Tensor = self.dense(h)
        return features

    def forward(self, x: Tensor) -> Tensor:
        energy = self.read(self.last(self.features(x)))
        if self.base_precision:
            energy = energy + self.base_precision / 2 * x.flatten(1).square().sum(1)
        return energy

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Forward pass and manual backward pass to x alone: a chain needs no graph and no weight gradient."""
        function, pullback = ACTIVATIONS[self.activation]
        h, convolved = x, []
        for convolution in self.convolutions:
            layer, weight = _unwrapped(convolution)
            # Faster. Not `contiguous`, which does not convert a kernel of one channel, nor the maps that follow it.
            weight = weight.to(memory_format=torch.channels_last)
            before, z = h, F.conv2d(h, weight, layer.bias, layer.stride, layer.padding)
            h = function(z)
            convolved.append((layer, weight, before, z, h))
        maps = h.shape
        h = h.sum((2, 3)) if self.head == "sum" else h.flatten(1)
        h, connected = self.dense.climb(h)
        layer, weight = _unwrapped(self.last)
        energy, gradient = self.read_and_grad(F.linear(h, weight, layer.bias), weight)

        gradient = self.dense.descend(gradient, connected)
        gradient = gradient[..., None, None].expand(maps) if self.head == "sum" else gradient.view(maps)
        while convolved:  # frees the memory of each layer after use
            layer, weight, before, z, h = convolved.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = _to_input(gradient, before, weight, layer)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * x.flatten(1).square().sum(1)
            gradient = gradient + self.base_precision * x
        return energy, gradient

    def read(self, outputs: Tensor) -> Tensor:
        """Energies `(B,)` from outputs of the last layer `(B, outputs)`: here the only output."""
        return outputs.squeeze(1)

    def read_and_grad(self, outputs: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The same, and its gradient with respect to the input of the last layer, which has this weight."""
        return outputs.squeeze(1), weight.expand(len(outputs), -1)


def _unwrapped(layer: Any) -> tuple[Any, Tensor]:
    """A layer without its normalisation, and its effective weight."""
    return (layer.layer, layer.weight) if isinstance(layer, SpectralNorm) else (layer, layer.weight)
