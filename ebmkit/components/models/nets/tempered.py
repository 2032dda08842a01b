"""A tempered model as a module."""

from __future__ import annotations

from torch import Tensor, nn

from ebmkit.chains.energy import Energy


class TemperedEnergy(nn.Module):
    """`E(x) / T`."""

    def __init__(self, model: nn.Module, temperature: float) -> None:
        super().__init__()
        self.model = model
        self.temperature = temperature

    def forward(self, x: Tensor) -> Tensor:
        energy: Tensor = self.model(x)
        return energy / self.temperature

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx` divided by T, using the `energy_and_grad` of the model if it has one."""
        energy, gradient = Energy(self.model).value_and_grad(x)
        return energy / self.temperature, gradient / self.temperature
