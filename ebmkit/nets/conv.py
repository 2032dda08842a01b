"""The convolutional network as a module."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the name everybody uses

from ebmkit.models.conv_layers import Architecture, shape_after
from ebmkit.nets import mlp
from ebmkit.nets.spectral import SpectralNorm

ACTIVATIONS = {name: function for name, (function, _) in mlp.ACTIVATIONS.items()} | {
    "leaky_relu": partial(F.leaky_relu, negative_slope=0.2)
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
        function = ACTIVATIONS[self.activation]
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
