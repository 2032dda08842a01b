"""Chains started at the patterns of the model."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Generator, Tensor

from ebmkit.contracts.abilities import Patterns
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.setting import Setting
from ebmkit.maths.corruption import corrupted


class PatternStarts(Starts):
    """The patterns in turn, with some units changed. They are copied from the model when a run is prepared."""

    patterns: Tensor

    def __init__(self, event: tuple[int, ...], flip: float, mask: float) -> None:
        super().__init__()
        self.flip = flip
        self.mask = mask
        self.unit_values = (-1.0, 1.0)
        # Taken from the model, so not part of the state of a run.
        self.register_buffer("patterns", torch.zeros(1, *event), persistent=False)

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        model: Any = setting.model
        self.patterns = cast("Patterns", model).patterns.detach().clone()
        self.unit_values = model.unit_values

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        rows = torch.arange(len(like), device=like.device) % len(self.patterns)
        return corrupted(self.patterns.index_select(0, rows).to(like), self.flip, self.mask, self.unit_values, rng)
