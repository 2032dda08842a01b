"""Chains started at given points."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class PointStarts(Starts):
    """The points in turn."""

    at: Tensor

    def __init__(self, event: tuple[int, ...], at: tuple[tuple[float, ...], ...]) -> None:
        super().__init__()
        self.event = event
        # The spec has them, so no checkpoint does.
        self.register_buffer("at", torch.tensor(at, dtype=torch.float64, device="cpu"), persistent=False)

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        points = self.at.to(like.dtype)
        rows = torch.arange(len(like), device=like.device) % len(points)
        shape = [-1, *(self.event if points.shape[1] > 1 else [1] * len(self.event))]
        return points.index_select(0, rows).view(shape).expand(-1, *self.event).clone()
