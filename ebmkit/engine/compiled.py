"""Chains on a compiled network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import grad_and_value


def compile_energy(module: nn.Module) -> None:
    """Give a module a compiled `energy_and_grad`, which chains prefer to a forward and a backward pass.

    It is derived from the forward pass even where the module has one written by hand: of the one of `mlp`, inductor in
    torch 2.13 makes wrong numbers. The training step stays as it is, because a compiled module cannot be differentiated
    twice, and score matching has to.
    """

    def energy_and_grad(x: Tensor) -> tuple[Tensor, Tensor]:
        def total(point: Tensor) -> tuple[Tensor, Tensor]:
            energy = module(point)
            return energy.sum(), energy

        gradient, (_, energy) = grad_and_value(total, has_aux=True)(x)
        return energy, gradient

    module.energy_and_grad = torch.compile(energy_and_grad)  # type: ignore[assignment]
