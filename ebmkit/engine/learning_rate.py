"""The learning rate over training."""

from __future__ import annotations

import math

from torch.optim import Optimizer


class CosineDecay:
    """From each group's own rate at the first step along half a cosine to `final` times that at the last."""

    def __init__(self, optimizer: Optimizer, steps: int, final: float) -> None:
        self.groups = [(group, group["lr"]) for group in optimizer.param_groups] if final != 1.0 else []
        self.steps = steps
        self.final = final

    def set(self, step: int) -> None:
        """Prepare the optimizer for `step`, counted from 1."""
        for group, start in self.groups:
            falling = (1 + math.cos(math.pi * (step - 1) / max(self.steps - 1, 1))) / 2
            group["lr"] = start * (self.final + (1 - self.final) * falling)
