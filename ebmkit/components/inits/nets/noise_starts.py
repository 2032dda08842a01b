"""Chains started from noise."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class NoiseStarts(Starts):
    """New draws from N(0, scale^2 I) or U[-scale, scale]^d; uniform draws of the units of discrete states."""

    def __init__(self, event: tuple[int, ...], distribution: str, scale: float) -> None:
        super().__init__()
        self.event = event
        self.distribution = distribution
        self.scale = scale

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        x = torch.empty(len(like), *self.event, device=like.device, dtype=like.dtype)
        if self.space != "real":
            coin = x.uniform_(generator=rng).round_()
            return coin if self.space == "binary" else 2 * coin - 1
        if self.distribution == "uniform":
            return x.uniform_(-self.scale, self.scale, generator=rng)
        return x.normal_(0.0, self.scale, generator=rng)
