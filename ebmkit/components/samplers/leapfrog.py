"""Leapfrog integration and Metropolis correction, shared by `mala`, `hmc` and `nuts`."""

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

#: Increase of H, in units of the temperature, above which a trajectory counts as divergent: exp(-1000) is zero.
DIVERGED = 1000.0


class HamiltonianState(NamedTuple):
    """Positions of the chains, the energy and its gradient there, step size and masses."""

    x: Tensor
    energy: Tensor
    gradient: Tensor
    step_size: Tensor
    mass: Mass

    @classmethod
    def begin(cls, energy: Energy, x: Tensor, step_size: float, masses: Masses | None) -> HamiltonianState:
        """Chains at `x`, with the step size and masses of a spec."""
        return cls(x, *energy.value_and_grad(x), x.new_full((), step_size), mass_of(masses, x))


class Phase(NamedTuple):
    """Positions and momenta of the chains, and the energy and its gradient there."""

    x: Tensor
    p: Tensor
    energy: Tensor
    gradient: Tensor

    def hamiltonian(self, mass: Mass) -> Tensor:
        """`E(x) + p' M^-1 p / 2`."""
        return self.energy + mass.kinetic(self.p)


def leapfrog(energy: Energy, phase: Phase, step_size: Tensor, mass: Mass, steps: int = 1) -> Phase:
    """Leapfrog steps: reversible, volume-preserving, one gradient per step.

        p_ = p - eps/2 dE(x),    x' = x + eps M^-1 p_,    p' = p_ - eps/2 dE(x')

    `step_size` is one number, or one per chain with the dimensions of x; a negative one goes back in time. If an energy
    on the way is not finite, the last one is NaN.
    """
    x, height, gradient, heights = phase.x, phase.energy, phase.gradient, []
    p = phase.p.addcmul(step_size, gradient, value=-0.5)
    for left in reversed(range(steps)):
        x = x.addcmul(step_size, mass.velocity(p))
        height, gradient = energy.value_and_grad(x)
        heights.append(height)
        p.addcmul_(step_size, gradient, value=-1 if left else -0.5)  # two half updates at one position are a full one
    if steps > 1:  # the end alone may not show what happened on the way
        total = torch.stack(heights).sum(0)
        height = height + (total - total)
    return Phase(x, p, height, gradient)


def choose(
    state: HamiltonianState, start: Phase, end: Phase, temperature: float, rng: Generator
) -> tuple[HamiltonianState, StepInfo]:
    """Accept the end of a trajectory with probability `min(1, exp((H - H*) / T))`, else keep its start."""
    before, after = start.hamiltonian(state.mass), end.hamiltonian(state.mass)
    log_ratio = (before - after).div_(temperature)
    diverged = ((log_ratio > -DIVERGED) & (after > -inf)).logical_not_()  # also if anything is NaN
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
