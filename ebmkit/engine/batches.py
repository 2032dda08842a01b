"""Training batches from data that lies on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.engine.streams import Streams


class Batches:
    """Every epoch visits the data in a new order, which is a function of seed and epoch.

    So the position in the data is one integer, the step. What does not fill a batch at the end of an epoch is left for
    another one; data smaller than a batch are one batch.
    """

    def __init__(self, data: Tensor, size: int, streams: Streams) -> None:
        self.data = data
        self.size = min(size, len(data))
        self.streams = streams
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.long, device=data.device)

    def at(self, step: int) -> Tensor:
        """The batch of a step, counted from 1."""
        epoch, position = divmod(step - 1, len(self.data) // self.size)
        if epoch != self._epoch:
            self._epoch = epoch
            rng = self.streams.generator(f"train/epoch/{epoch}")
            self._order = torch.randperm(len(self.data), generator=rng, device=self.data.device)
        start = position * self.size
        return self.data.index_select(0, self._order[start : start + self.size])
