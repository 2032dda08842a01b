"""Chains on a compiled network: blocks of steps in one piece of machine code, with the noise handed in.

The training step stays as it is, because a compiled module cannot be differentiated twice, and score matching has to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor, nn
from torch.func import grad_and_value

from ebmkit.chains.energy import Energy
from ebmkit.chains.private_torch import allow_recompilations
from ebmkit.contracts.kinds import State, StepInfo

#: Steps in a block. More of them take longer to compile and save little.
BLOCK = 10
#: Most random numbers that are drawn ahead. Where a step has many of its own, blocks have nothing to save.
NOISE = 2**24
#: Pieces of code that torch may make of one function; beyond, it runs uncompiled and slowly.
PIECES = 64


@runtime_checkable
class Splits(Protocol):
    """A sampler whose `step` is `move` behind `noise`, so that random numbers can be drawn before they are used.

    In torch 2.13 compiled code forgets the alpha of `add` if one of the two is a matrix product, as a gradient often
    is; `sub` is right. A move that is to be compiled says `x - step_size * gradient` or `x.sub(gradient, alpha=...)`.
    """

    def noise(self, x: Tensor, rng: Generator) -> Tensor: ...
    def move(self, energy: Energy, state: Any, noise: Tensor) -> tuple[State, StepInfo]: ...


def compile_energy(module: nn.Module) -> None:
    """From now on chains on this module run compiled."""
    module.energy_class = CompiledEnergy  # type: ignore[assignment]


class CompiledEnergy(Energy):
    """The energy of a module, compiled for the shape of x when it is first asked for."""

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        with torch.no_grad():
            found: tuple[Tensor, Tensor] = _compiled(_value_and_grad)(self.module, x)
        return found

    def block(
        self, sampler: Splits, state: State, rng: Generator, steps: int, traced: bool
    ) -> tuple[State, list[StepInfo]]:
        """The state after so many steps, and what they saw; of those that nobody follows, what the last one saw."""
        noises = [sampler.noise(state.x, rng) for _ in range(steps)]
        with torch.no_grad():
            state, infos, evaluations = _compiled(_moves)(sampler, self.module, state, noises, traced)
        self.evaluations += evaluations
        return state, infos


class TracedEnergy(Energy):
    """An energy as the compiler follows it. `autograd.grad` would break the graph, `func.grad` does not."""

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        if self._by_hand is not None:
            return self._by_hand(x)

        def total(point: Tensor) -> tuple[Tensor, Tensor]:
            energy = self.module(point)
            return energy.sum(), energy

        gradient, (_, energy) = grad_and_value(total, has_aux=True)(x)
        return energy, gradient


def _value_and_grad(module: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    return TracedEnergy(module).value_and_grad(x)


def _moves(
    sampler: Splits, module: nn.Module, state: State, noises: list[Tensor], traced: bool
) -> tuple[State, list[StepInfo], int]:
    energy, infos = TracedEnergy(module), []
    for noise in noises:
        state, info = sampler.move(energy, state, noise)
        infos.append(info)
    return state, infos if traced else infos[-1:], energy.evaluations


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    allow_recompilations(PIECES)
    # In C++ kernels call each other; in Python the way from one to the next takes longer than a small layer.
    return torch.compile(function, options={"cpp_wrapper": True})
