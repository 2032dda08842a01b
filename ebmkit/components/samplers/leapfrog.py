"""Hamiltonian dynamics in small steps, and the choice at their end. `mala`, `hmc` and `nuts` share them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.components.samplers.mass import Masses, mass_of
from ebmkit.contracts.kinds import StepInfo
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.chains.mass import Mass
    from ebmkit.contracts.energy import Energy

#: How much H may grow, in units of the temperature, before a trajectory counts as diverged: exp(-1000) is zero.
DIVERGED = 1000.0


class HamiltonianState(NamedTuple):
    """Where chains stand, the energy and its gradient there, and how they move on."""

    x: Tensor
    energy: Tensor
    gradient: Tensor
    step_size: Tensor
    mass: Mass

    @classmethod
    def begin(cls, energy: Energy, x: Tensor, step_size: float, masses: Masses | None) -> HamiltonianState:
        """Chains at `x`, which move as a spec says."""
        return cls(x, *energy.value_and_grad(x), x.new_full((), step_size), mass_of(masses, x))


class Phase(NamedTuple):
    """Where chains stand, how fast they move, and the energy and its gradient there."""

    x: Tensor
    p: Tensor
    energy: Tensor
    gradient: Tensor

    def hamiltonian(self, mass: Mass) -> Tensor:
        """`E(x) + p' M^-1 p / 2`."""
        return self.energy + mass.kinetic(self.p)


def leapfrog(energy: Energy, phase: Phase, step_size: Tensor, mass: Mass, steps: int = 1) -> Phase:
    """Half a kick, a drift, half a kick, so many times: reversible, keeps volumes, and asks for one gradient a step.

        p_ = p - eps/2 dE(x),    x' = x + eps M^-1 p_,    p' = p_ - eps/2 dE(x')

    `step_size` is one number, or one a chain with the dimensions of x; a negative one goes back in time.
    """
    x, height, gradient = phase.x, phase.energy, phase.gradient
    p = phase.p.addcmul(step_size, gradient, value=-0.5)
    for left in reversed(range(steps)):
        x = x.addcmul(step_size, mass.velocity(p))
        height, gradient = energy.value_and_grad(x)
        p.addcmul_(step_size, gradient, value=-1 if left else -0.5)  # two half kicks at one place are a whole one
    return Phase(x, p, height, gradient)


def choose(
    state: HamiltonianState, start: Phase, end: Phase, temperature: float, rng: Generator
) -> tuple[HamiltonianState, StepInfo]:
    """On to where a trajectory ended with probability `min(1, exp((H - H*) / T))`, else back to where it began."""
    before, after = start.hamiltonian(state.mass), end.hamiltonian(state.mass)
    log_ratio = (before - after).div_(temperature)
    diverged = ((log_ratio > -DIVERGED) & (after > -inf)).logical_not_()  # where anything is not a number, too
    acceptance = log_ratio.clamp_(max=0).exp_().masked_fill_(diverged, 0)
    accepted = torch.empty_like(acceptance).uniform_(generator=rng) < acceptance
    mask = accepted.view(-1, *[1] * (end.x.dim() - 1))
    moved = HamiltonianState(
        end.x.where(mask, start.x),
        end.energy.where(accepted, start.energy),
        end.gradient.where(mask, start.gradient),
        state.step_size,
        state.mass,
    )
    return moved, StepInfo(start.energy, start.gradient, acceptance, diverged.to(acceptance.dtype))
