"""The ability `sweeps` at other temperatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.abilities import Sweeps


class HeatedSweeps:
    """Sweeps of `exp(-E/T)`: every draw is made at the temperature of its chain."""

    def __init__(self, cold: Sweeps, temperature: Tensor) -> None:
        self.cold = cold
        self.temperature = temperature

    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """`(B, U)` and `E/T (B,)`."""
        swept, energy = self.cold.sweep(units, temperature * self.temperature.unsqueeze(1), rng)
        return swept, energy / self.temperature
