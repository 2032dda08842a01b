"""Uniform noise as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.density import Density


class UniformDensity(Density):
    """A constant density in a box, zero outside."""

    low: Tensor
    high: Tensor

    def __init__(self, low: Tensor, high: Tensor, event: tuple[int, ...]) -> None:
        super().__init__()
        dtype = torch.get_default_dtype()
        self.event = event
        self.register_buffer("low", low.to(dtype))
        self.register_buffer("high", high.to(dtype))

    def log_prob(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        inside = ((flat >= self.low) & (flat <= self.high)).all(1)
        height = -(self.high - self.low).log().sum()
        return torch.where(inside, height, -torch.inf)

    def sample(self, n: int, rng: Generator) -> Tensor:
        u = torch.empty(n, len(self.low), device=self.low.device, dtype=self.low.dtype).uniform_(generator=rng)
        return torch.lerp(self.low, self.high, u).view(n, *self.event)  # never rounds to a point outside
