"""Starts at the chains of training."""

from __future__ import annotations

from torch import Generator, Tensor, nn

from ebmkit.contracts.modules.starts import Starts


class TrainingStarts(Starts):
    """Stands for the starts of the objective until there is one."""

    def follow(self, extras: nn.Module | None) -> Starts:
        modules = extras.modules() if extras else ()
        return next((module for module in modules if isinstance(module, Starts)), self)

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        raise ValueError("there are no chains of training to continue")
