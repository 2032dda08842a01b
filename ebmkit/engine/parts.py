"""The parts of a run that have state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ebmkit.contracts.modules.starts import Starts
from ebmkit.engine.ema import RunningMean


@dataclass(frozen=True)
class Parts:
    """All parts of a run that have state, on one device."""

    device: torch.device
    dtype: torch.dtype
    threads: int
    model: nn.Module
    starts: Starts
    train: Tensor | None = None
    test: Tensor | None = None
    #: Integers, one per point, for labelled data.
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    extras: nn.Module | None = None
    #: One per stage of training.
    optimizers: tuple[torch.optim.Optimizer, ...] = ()
    mean: RunningMean | None = None

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are sampled and measured."""
        return self.mean.module if self.mean else self.model

    @property
    def parameter_count(self) -> int:
        """The number of parameters of the model, trained or not."""
        return sum(parameter.numel() for parameter in self.model.parameters())
