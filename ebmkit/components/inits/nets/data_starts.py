"""Chains started at data points."""

from __future__ import annotations

from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class DataStarts(Starts):
    """Initial states at the rows of the batch. No state is kept."""

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        return like.detach().clone()
