"""The convolutional network as a module."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the name everybody uses

from ebmkit.models.conv_layers import Architecture, shape_after
from ebmkit.nets import mlp
from ebmkit.nets.spectral import SpectralNorm

aten = torch.ops.aten

ACTIVATIONS = mlp.ACTIVATIONS | {
    "leaky_relu": (
        partial(F.leaky_relu, negative_slope=0.2),
        lambda g, z, a: aten.leaky_relu_backward.grad_input(g, z, 0.2, False, grad_input=a),
    )
}


class ConvEnergy(nn.Module):
    """`E(x) = f(x) + |x|^2 / (2 base_scale^2)` on images. `power_iterations` of None leave the weights as they are."""

    def __init__(
        self,
        event: tuple[int, ...],
        architecture: Architecture,
        head: str,
        activation: str,
        power_iterations: int | None,
        base_scale: float | None,
    ) -> None:
        super().__init__()
        last_channels, height, width = shape_after(architecture.layers, event)
        channels = [event[0], *(layer.channels for layer in architecture.layers)]
        widths = [last_channels * (1 if head == "sum" else height * width), *architecture.dense, 1]

        def normalised(layer: nn.Conv2d | nn.Linear) -> nn.Module:
            return SpectralNorm(layer, power_iterations) if power_iterations else layer

        self.convolutions = nn.ModuleList(
            normalised(nn.Conv2d(before, layer.channels, layer.kernel, layer.stride, layer.padding))
            for before, layer in zip(channels[:-1], architecture.layers, strict=True)
        )
        *dense, last = (normalised(nn.Linear(before, after)) for before, after in pairwise(widths))
        self.dense = nn.ModuleList(dense)
        self.last = last
        self.head = head
        self.activation = activation
        self.base_precision = 0.0 if base_scale is None else base_scale**-2

    def forward(self, x: Tensor) -> Tensor:
        function, _ = ACTIVATIONS[self.activation]
        h = x
        for convolution in self.convolutions:
            h = function(convolution(h))
        h = h.sum((2, 3)) if self.head == "sum" else h.flatten(1)
        for layer in self.dense:
            h = function(layer(h))
        energy: Tensor = self.last(h).squeeze(1)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * x.flatten(1).square().sum(1)
        return energy

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Forward and, by hand, backward to x alone: a chain needs no graph and no weight gradient."""
        function, pullback = ACTIVATIONS[self.activation]
        h, convolved, connected = x, [], []
        for convolution in self.convolutions:
            layer, weight = _unwrapped(convolution)
            # Convolves faster. Not `contiguous`, which leaves a kernel of one channel as it is, and all maps behind it.
            weight = weight.to(memory_format=torch.channels_last)
            before, z = h, F.conv2d(h, weight, layer.bias, layer.stride, layer.padding)
            h = function(z)
            convolved.append((layer, weight, before, z, h))
        maps = h.shape
        h = h.sum((2, 3)) if self.head == "sum" else h.flatten(1)
        for dense in self.dense:
            layer, weight = _unwrapped(dense)
            z = F.linear(h, weight, layer.bias)
            h = function(z)
            connected.append((weight, z, h))
        layer, weight = _unwrapped(self.last)
        energy = F.linear(h, weight, layer.bias).squeeze(1)

        gradient = weight.expand(len(x), -1)
        while connected:  # each layer's memory goes as soon as it was used
            weight, z, h = connected.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = gradient @ weight
        gradient = gradient[..., None, None].expand(maps) if self.head == "sum" else gradient.view(maps)
        while convolved:
            layer, weight, before, z, h = convolved.pop()
            gradient = pullback(gradient, z, h)
            del z, h
            gradient = _to_input(gradient, before, weight, layer)
        if self.base_precision:
            energy = energy + self.base_precision / 2 * x.flatten(1).square().sum(1)
            gradient = gradient + self.base_precision * x
        return energy, gradient


def _unwrapped(layer: Any) -> tuple[Any, Tensor]:
    """A layer without its normalisation, and the weight that it works with."""
    return (layer.layer, layer.weight) if isinstance(layer, SpectralNorm) else (layer, layer.weight)


def _to_input(gradient: Tensor, x: Tensor, weight: Tensor, layer: nn.Conv2d) -> Tensor:
    """The vector-Jacobian product of a convolution."""
    place = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
    pulled: Tensor = aten.convolution_backward(gradient, x, weight, None, *place, (True, False, False))[0]
    return pulled
