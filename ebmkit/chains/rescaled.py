"""Energies of rescaled states."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from torch import Tensor

from ebmkit.chains.heated import DerivedEnergy
from ebmkit.contracts.ability import info_of
from ebmkit.contracts.energy import Energy

A = TypeVar("A")


class RescaledEnergy(DerivedEnergy):
    """`E(unit y)` of real states `y = x / unit`, with units that broadcast against x."""

    def __init__(self, original: Energy, unit: Tensor) -> None:
        super().__init__(original)
        self.unit = unit

    def __call__(self, x: Tensor) -> Tensor:
        self.evaluations += 1
        return self.original(x * self.unit)

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        energy, gradient = self.original.value_and_grad(x * self.unit)
        return energy, gradient * self.unit

    def ask(self, ability: Callable[..., A]) -> A:
        """Only abilities of the energy itself: others take states in the units of the model."""
        if info_of(ability).by_energy:
            return cast("A", self)
        raise TypeError(f"the ability '{info_of(ability).name}' takes states in the units of the model")
