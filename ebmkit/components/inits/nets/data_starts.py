"""Chain starts at data points."""

from __future__ import annotations

from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class DataStarts(Starts):
    """The rows of the batch. Nothing is remembered."""

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        return like.detach().clone()
