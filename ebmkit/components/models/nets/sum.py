"""A product of experts as a module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import Energy


class SumEnergy(nn.Module):
    """`E(x) = sum_k w_k E_k(x)`."""

    def __init__(self, components: Iterable[nn.Module], weights: Sequence[float]) -> None:
        super().__init__()
        self.components = nn.ModuleList(components)
        self.weights = tuple(weights)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([w * part(x) for w, part in zip(self.weights, self.components, strict=True)]).sum(0)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx`, using the `energy_and_grad` of each component that has one."""
        energies, gradients = [], []
        for w, part in zip(self.weights, self.components, strict=True):
            energy, gradient = Energy(part).value_and_grad(x)
            energies.append(w * energy)
            gradients.append(w * gradient)
        return torch.stack(energies).sum(0), torch.stack(gradients).sum(0)
