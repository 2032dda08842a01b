"""A model with hidden units as one of all its units."""

from __future__ import annotations

from typing import Protocol, cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.contracts.abilities import Blocks, Hidden, JointConditionals


class Jointly(Hidden, JointConditionals, Blocks, Protocol):
    """What is needed of the module."""


class JointUnits(nn.Module):
    """`E(x, h)` of flat joint states `(B, U)`, with conditionals and blocks."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def _jointly(self) -> Jointly:
        return cast("Jointly", self.model)

    def forward(self, units: Tensor) -> Tensor:
        return self._jointly.joint_energy(units)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """`(B, K)`."""
        return self._jointly.joint_log_odds(x, sites)

    def blocks(self) -> list[Tensor]:
        """Units that are drawn at once."""
        return self._jointly.blocks()

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """`(B, K)`."""
        return self._jointly.draw_units(units, sites, temperature, rng)

    @torch.no_grad()
    def extended(self, x: Tensor, rng: Generator, sweeps: int = 0) -> Tensor:
        """Joint states that start at x, with hidden units near their distribution given x, after sweeps of Gibbs
        sampling of all units. If x are samples, so is x after them, and the hidden units become samples, too."""
        units = torch.cat([x.flatten(1), self._jointly.draw_hidden(x, rng)], 1)
        for _ in range(sweeps):
            for sites in self.blocks():
                units.index_copy_(1, sites, self.draw_units(units, sites, 1.0, rng))
        return units
