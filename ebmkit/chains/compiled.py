"""Chains on a compiled network: blocks of steps are compiled into one function, which takes the noise as an argument.

The training step is not compiled, because a compiled module cannot be differentiated twice, as score matching requires.
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

#: Steps in a block. Longer blocks take longer to compile and save little.
BLOCK = 10
#: Maximum number of random numbers drawn in advance. If a single step needs many, blocks save nothing.
NOISE = 2**24
#: Maximum number of versions that torch compiles of one function; beyond it, the function runs uncompiled and slowly.
PIECES = 64


@runtime_checkable
class Splits(Protocol):
    """A sampler whose `step` is `noise` followed by `move`, so that random numbers can be drawn in advance.

    In torch 2.13 compiled code drops the alpha of `add` if an operand is a matrix product, as a gradient often is;
    `sub` is correct. Write a move that is to be compiled as `x - step_size * gradient` or
    `x.sub(gradient, alpha=...)`.
    """

    def noise(self, x: Tensor, rng: Generator) -> Tensor: ...
    def move(self, energy: Energy, state: Any, noise: Tensor) -> tuple[State, StepInfo]: ...


def compile_energy(module: nn.Module) -> None:
    """Make all later chains on this module run compiled."""
    module.energy_class = CompiledEnergy  # type: ignore[assignment]


class CompiledEnergy(Energy):
    """The energy of a module, compiled for the shape of x on first use."""

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        with torch.no_grad():
            found: tuple[Tensor, Tensor] = _compiled(_value_and_grad)(self._module, x)
        return found

    def block(
        self, sampler: Splits, state: State, rng: Generator, steps: int, traced: bool
    ) -> tuple[State, list[StepInfo]]:
        """The state after this many steps, and the information of all steps if `traced`, else of the last one."""
        noises = [sampler.noise(state.x, rng) for _ in range(steps)]
        with torch.no_grad():
            state, infos, evaluations = _compiled(_moves)(sampler, self._module, state, noises, traced)
        self.evaluations += evaluations
        return state, infos


class TracedEnergy(Energy):
    """An energy that can be traced by the compiler: `autograd.grad` would break the graph, `func.grad` does not."""

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        if self._by_hand is not None:
            return self._by_hand(x)

        at, of_point = self.continuation(x)

        def total(point: Tensor) -> tuple[Tensor, Tensor]:
            energy = of_point(point)
            return energy.sum(), energy

        gradient, (_, energy) = grad_and_value(total, has_aux=True)(at)
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
    # With the C++ wrapper kernels call each other; the overhead of Python between them exceeds a small layer.
    return torch.compile(function, options={"cpp_wrapper": True})
