"""A running mean of the weights, which gives better samples than the current weights."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ebmkit.chains.private_torch import copy_all, lerp_all


class RunningMean:
    """`mean <- d mean + (1 - d) weights` after every step, with d growing to `decay`.

    The warm-up `d = min(decay, (1 + step) / (10 + step))` keeps the random initial weights out of short runs.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = copy.deepcopy(module).eval().requires_grad_(False)
        self._source = module
        self._live: list[Tensor] = list(module.parameters())
        self._mean: list[Tensor] = list(self.module.parameters())
        self._buffers = list(self.module.buffers())

    def update(self, step: int, decay: float) -> None:
        """Update the mean with the weights after `step`. With `decay` 0 the mean equals the weights."""
        weight = 1 - min(decay, (1 + step) / (10 + step))
        with torch.no_grad():
            if self._mean:
                lerp_all(self._mean, self._live, weight)
            if self._buffers:  # counters and spectral-norm vectors are not weights and are not averaged
                # Looked up each time: a module may replace its buffers.
                copy_all(self._buffers, list(self._source.buffers()))
