"""Fully connected networks conditioned on the noise level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from torch import Tensor, nn

from ebmkit.maths.activations import ACTIVATIONS
from ebmkit.maths.noise_embedding import NoiseEmbedding


class NoisedDense(nn.Module):
    """Linear layers, each followed by an activation; embeddings of noise level and label are added to its input."""

    def __init__(
        self, event: tuple[int, ...], outputs: int, hidden: Sequence[int], activation: str, classes: int | None
    ) -> None:
        super().__init__()
        widths = [prod(event), *hidden]
        self.layers = nn.ModuleList(nn.Linear(*step) for step in pairwise(widths))
        self.embedding = NoiseEmbedding(max(hidden), classes)
        self.modulation = nn.ModuleList(nn.Linear(max(hidden), width, bias=False) for width in hidden)
        self.last = nn.Linear(widths[-1], outputs)
        self.activation = activation

    def forward(self, x: Tensor, sigma: Tensor, labels: Tensor | None) -> Tensor:
        function, _ = ACTIVATIONS[self.activation]
        embedded, h = self.embedding(sigma, labels), x.flatten(1)
        for layer, modulation in zip(self.layers, self.modulation, strict=True):
            h = function(layer(h) + modulation(embedded))
        out: Tensor = self.last(h)
        return out


class DenseScore(NoisedDense):
    """As many outputs as inputs, in the shape of a state."""

    def forward(self, x: Tensor, sigma: Tensor, labels: Tensor | None) -> Tensor:
        return super().forward(x, sigma, labels).view_as(x)


class DensePotential(NoisedDense):
    """One output."""

    def forward(self, x: Tensor, sigma: Tensor, labels: Tensor | None) -> Tensor:
        return super().forward(x, sigma, labels).squeeze(1)
