"""Embedding of the noise level, and of a label."""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor, nn

from ebmkit.maths.parameter_counts import WAVES


class NoiseEmbedding(nn.Module):
    """`log(sigma) / 4` and its Fourier features through one hidden layer, plus a vector for each label."""

    frequencies: Tensor

    def __init__(self, width: int, classes: int | None) -> None:
        super().__init__()
        self.register_buffer("frequencies", pi / 2 * torch.arange(1.0, WAVES + 1), persistent=False)
        self.first = nn.Linear(2 * WAVES + 1, width)
        self.second = nn.Linear(width, width)
        self.classes = nn.Embedding(classes, width) if classes else None

    def forward(self, sigma: Tensor, labels: Tensor | None) -> Tensor:
        """Embeddings of noise-to-signal ratios `(B,)` or `(1,)`: one row each, or one for each label."""
        c = sigma.log().unsqueeze(1) / 4
        waves = c * self.frequencies
        h = torch.nn.functional.silu(self.first(torch.cat([c, waves.sin(), waves.cos()], 1)))
        embedded: Tensor = self.second(h)
        if self.classes is None:
            return torch.nn.functional.silu(embedded)
        if labels is None:
            raise ValueError("the network is conditioned on labels, but none were given")
        return torch.nn.functional.silu(embedded + self.classes(labels))
