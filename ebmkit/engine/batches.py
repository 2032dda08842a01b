"""Training batches."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.engine.rng import Streams


class Batches:
    """Every epoch visits the data in a new order, which is a function of seed and epoch.

    The position in the data is therefore given by the step alone. An incomplete batch at the end of an epoch is
    skipped; data smaller than a batch form one batch. Data that do not fit on the device stay on the host, or in their
    file, and are transferred batch by batch.
    """

    def __init__(
        self,
        data: Tensor,
        size: int,
        streams: Streams,
        path: str,
        device: torch.device,
        labels: Tensor | None = None,
    ) -> None:
        self.data = data
        self.labels = labels
        self.size = min(size, len(data))
        self.streams = streams
        self.path = path
        self.device = device
        self._resident = data.device == device
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.long, device=data.device)

    def at(self, step: int) -> Tensor:
        """The points of a step of this stage; steps are counted from 1."""
        return self._rows(self.data, step)

    def labels_at(self, step: int) -> Tensor | None:
        """Their labels, if there are any."""
        return None if self.labels is None else self._rows(self.labels, step)

    def _rows(self, of: Tensor, step: int) -> Tensor:
        epoch, position = divmod(step - 1, len(self.data) // self.size)
        if epoch != self._epoch:
            self._epoch = epoch
            rng = self.streams.generator(f"{self.path}/epoch/{epoch}", self.data.device)
            self._order = torch.randperm(len(self.data), generator=rng, device=self.data.device)
        start = position * self.size
        rows = of.index_select(0, self._order[start : start + self.size])
        return rows if self._resident else rows.to(self.device, non_blocking=True)
