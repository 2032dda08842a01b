"""Everything of a run that has state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ebmkit.contracts.modules.starts import Starts
from ebmkit.engine.ema import RunningMean


@dataclass(frozen=True)
class Parts:
    """Everything of a run that has state, on one device."""

    device: torch.device
    dtype: torch.dtype
    threads: int
    model: nn.Module
    starts: Starts
    train: Tensor | None = None
    test: Tensor | None = None
    #: Whole numbers, one for each point, for data that have some.
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    extras: nn.Module | None = None
    #: One for each stage of training.
    optimizers: tuple[torch.optim.Optimizer, ...] = ()
    mean: RunningMean | None = None

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are sampled and measured."""
        return self.mean.module if self.mean else self.model

    @property
    def parameter_count(self) -> int:
        """How many numbers the model learns or holds."""
        return sum(parameter.numel() for parameter in self.model.parameters())
