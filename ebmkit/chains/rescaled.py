"""Energies of rescaled states."""

from __future__ import annotations

from torch import Tensor

from ebmkit.chains.energy import Energy


class RescaledEnergy(Energy):
    """`E(unit y)` of real states `y = x / unit`, with units that broadcast against x."""

    def __init__(self, original: Energy, unit: Tensor) -> None:
        super().__init__(original.module)
        self.original = original
        self.unit = unit

    def __call__(self, x: Tensor) -> Tensor:
        self.evaluations += 1
        return self.original(x * self.unit)

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        energy, gradient = self.original.value_and_grad(x * self.unit)
        return energy, gradient * self.unit
