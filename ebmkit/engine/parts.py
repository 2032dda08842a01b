"""The parts of a run that have state."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.modules.starts import Starts
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.ema import RunningMean
from ebmkit.engine.working import Working
from ebmkit.maths.units import Units


@dataclass(frozen=True)
class Parts:
    """All parts of a run that have state, on one device. Model, starts and points are in the space of `scale`."""

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
    #: The auxiliary modules of the objective of the spec, for the whole model.
    extras: nn.Module | None = None
    #: One per stage of training. Those of stages that own their part or their objective are None until these begin.
    working: list[Working | None] = field(default_factory=list)
    mean: RunningMean | None = None
    #: The root mean square of the weights of the model before training.
    initial_scale: float = 0.0
    #: The map to the units of the data.
    units: Units = field(default_factory=Units)
    #: The points in the units of the data, in float64, if these are others.
    raw_train: Tensor | None = None
    raw_test: Tensor | None = None

    def points(self, split: Split, condition: Condition | None) -> tuple[Tensor | None, Tensor | None]:
        """The points of a split in the units of the data, on the device, and their labels; only those with the label
        of the condition, if it has one and the data have labels; None if there are none."""
        train = split == "train"
        raw, x = (self.raw_train, self.train) if train else (self.raw_test, self.test)
        x, y = x if raw is None else raw.to(self.device), self.train_labels if train else self.test_labels
        if x is None or y is None or condition is None or condition.label is None:
            return x, y
        chosen = y == condition.label
        return (x[chosen.to(x.device)], y[chosen]) if bool(chosen.any()) else (None, None)

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are sampled and measured."""
        return self.mean.module if self.mean else self.model

    @property
    def parameter_count(self) -> int:
        """The number of parameters of the model, trained or not."""
        return sum(parameter.numel() for parameter in self.model.parameters())


def weight_scale(model: nn.Module) -> float:
    """The root mean square of all weights; 0 if there are none, infinity or NaN if one is not finite."""
    count, squares = 0, 0.0
    for parameter in model.parameters():
        count += parameter.numel()
        weight = parameter.detach().float()
        largest = float(weight.abs().max()) if weight.numel() else 0.0
        # Relative to the largest, because squares of large weights exceed the range of float32.
        squares += (largest * float(torch.linalg.vector_norm(weight / largest))) ** 2 if largest else 0.0
    return (squares / count) ** 0.5 if count else 0.0
