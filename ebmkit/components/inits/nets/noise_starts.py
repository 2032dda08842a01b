"""Chains started from noise."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.chains.energy import Energy
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.setting import Setting


class NoiseStarts(Starts):
    """New draws from N(center, scale^2 I) or center + U[-scale, scale]^d; uniform draws of the units of discrete
    states."""

    def __init__(
        self, event: tuple[int, ...], distribution: str, scale: float, center: float | tuple[float, ...] = 0.0
    ) -> None:
        super().__init__()
        self.event = event
        self.distribution = distribution
        self.scale = scale
        self.center = center
        #: All values of a unit of categorical states.
        self.unit_values: tuple[float, ...] = ()

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        if setting.space == "categorical":
            self.unit_values = Energy(setting.model).unit_values

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        x = torch.empty(len(like), *self.event, device=like.device, dtype=like.dtype)
        if self.space == "categorical":
            return x.random_(len(self.unit_values), generator=rng)
        if self.space != "real":
            coin = x.uniform_(generator=rng).round_()
            return coin if self.space == "binary" else 2 * coin - 1
        if self.distribution == "uniform":
            return self._shifted(x.uniform_(-self.scale, self.scale, generator=rng))
        return self._shifted(x.normal_(0.0, self.scale, generator=rng))

    def _shifted(self, x: Tensor) -> Tensor:
        if not isinstance(self.center, tuple):
            return x.add_(self.center)
        return x.add_(x.new_tensor(self.center).view(self.event))
