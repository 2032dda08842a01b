"""The schedule of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch.optim import Optimizer

from ebmkit.language.sections import Train

#: The factor of the learning rate at the fraction t of the decay, which ends at the factor `final`.
DECAYS: dict[str, Callable[[float, float], float]] = {
    "cosine": lambda t, final: final + (1 - final) * (1 + math.cos(math.pi * t)) / 2,
    "linear": lambda t, final: 1 + (final - 1) * t,
    "exponential": lambda t, final: final**t,
}


class LearningRate:
    """A linear warm-up, then a decay. A function of the step alone, so there is no state to save."""

    def __init__(self, optimizer: Optimizer, stage: Train, rates: list[float]) -> None:
        self.stage = stage
        constant = stage.final_lr == 1 and not stage.warmup
        self.groups = [] if constant else list(zip(optimizer.param_groups, rates, strict=True))

    def factor(self, step: int) -> float:
        """The factor of the optimizer's own rate at a step of this stage; steps are counted from 1."""
        warmup, last = self.stage.warmup, self.stage.steps
        if step <= warmup:
            return step / (warmup + 1)
        passed = (step - 1 - warmup) / max(last - 1 - warmup, 1)
        return DECAYS[self.stage.decay](passed, self.stage.final_lr)

    def set(self, step: int) -> None:
        """Set the learning rate for a step."""
        if self.groups:
            factor = self.factor(step)
            for group, rate in self.groups:
                group["lr"] = rate * factor
