"""Steps of long chains that no draw shows: those of warm-up and burn-in, and those between two draws."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ebmkit.contracts.kinds import StepInfo

#: Steps whose numbers are added up at a time, which takes less time than adding each.
BLOCK = 16


class Sums(NamedTuple):
    """Of each chain: the sum of energies, which is not finite if one of them is not, and the number of steps with a
    divergence, an integer: it depends neither on the precision nor on where the sum was interrupted."""

    energy: Tensor
    divergence: Tensor


class Unseen:
    """What the steps that no draw shows reported, without host synchronisation."""

    def __init__(self, x: Tensor) -> None:
        self._sums = Sums(x.new_zeros(len(x)), x.new_zeros(len(x), dtype=torch.int64))
        self._waiting: list[StepInfo] = []

    def add(self, info: StepInfo) -> None:
        """One more step."""
        self._waiting.append(StepInfo(energy=info.energy, divergence=info.divergence))
        if len(self._waiting) == BLOCK:
            self._add_up()

    @property
    def sums(self) -> Sums:
        """Over all steps so far."""
        self._add_up()
        return self._sums

    @sums.setter
    def sums(self, sums: Sums) -> None:
        self._sums, self._waiting = sums, []

    def marked(self, energy: Tensor) -> Tensor:
        """The energies of the next draw; NaN for chains that had an energy on the way which is not finite."""
        passed = self.sums.energy
        self._sums = self._sums._replace(energy=torch.zeros_like(passed))
        return energy + (passed - passed)

    def _add_up(self) -> None:
        energies = [info.energy for info in self._waiting if info.energy is not None]
        divergences = [info.divergence for info in self._waiting if info.divergence is not None]
        self._waiting = []
        energy, divergence = self._sums
        if energies:
            energy = energy + torch.stack(energies).sum(0)
        if divergences:
            divergence = divergence + (torch.stack(divergences) > 0).sum(0)
        self._sums = Sums(energy, divergence)
