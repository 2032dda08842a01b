"""Hamiltonian Monte Carlo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.components.samplers.leapfrog import HamiltonianState, Phase, choose, leapfrog
from ebmkit.components.samplers.mass import Masses, check_masses, refusal_of
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


@component("hmc")
class HMC(Sampler):
    """Hamiltonian Monte Carlo: leapfrog trajectories with Metropolis correction.

        p ~ N(0, T M),    eps = step_size (1 + jitter u),    u ~ U(-1, 1)
        leapfrog_steps times: p <- p - eps/2 dE(x),    x <- x + eps M^-1 p,    p <- p - eps/2 dE(x)
        x' = x* with probability min(1, exp((H(x, p) - H(x*, p*)) / T)), else x,    H(x, p) = E(x) + p' M^-1 p / 2

    The temperature affects momenta and acceptance, but not the dynamics. A leapfrog step takes one gradient. A
    trajectory whose end is not finite, or on which H grew by more than 1000 T, is rejected and counted as divergent.

    Parameters:
        steps: number of trajectories of a chain.
        step_size: eps, the step size of the leapfrog integrator. A warm-up tunes it.
        leapfrog_steps: length of a trajectory, in steps.
        jitter: relative range of eps, which each chain draws again for every trajectory. Trajectories of a fixed length
            can return to their start.
        mass: M, one number for all coordinates, one each (an image row by row), or the rows of a matrix. The best M is
            the inverse of the target's covariance. Without it the masses are 1, and a warm-up tunes them.
        temperature: T.
        target_acceptance: mean acceptance that a warm-up tunes to. 0.651 is optimal in very many dimensions; up to 0.9
            costs little, and few dimensions or a curved target need more than 0.651.

    Reference: Neal, Handbook of MCMC, ch. 5, 2011; Betancourt, Byrne and Girolami, arXiv:1411.6669.

    Example: sampler: {use: hmc, steps: 200, step_size: 0.2, leapfrog_steps: 10}
    """

    steps: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] = 0.1
    leapfrog_steps: Annotated[int, Ge(1)] = 10
    jitter: Annotated[float, Ge(0), Lt(1)] = 0.2
    mass: Masses | None = None
    temperature: Annotated[float, Gt(0)] = 1.0
    target_acceptance: Annotated[float, Gt(0), Lt(1)] = 0.8

    def __post_init__(self) -> None:
        check_masses(self.mass)

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature, evaluations=self.leapfrog_steps)

    def refusal(self, question: Question) -> str | None:
        return refusal_of(self.mass, question.event)

    def tunes(self) -> frozenset[str]:
        return frozenset({"step_size"} if self.mass is not None else {"step_size", "mass"})

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> HamiltonianState:
        return HamiltonianState.begin(energy, x, self.step_size, self.mass)

    def step(self, energy: Energy, state: HamiltonianState, rng: Generator) -> tuple[HamiltonianState, StepInfo]:
        p = state.mass.momentum(state.x, rng, self.temperature)
        start = Phase(state.x, p, state.energy, state.gradient)
        eps = state.step_size
        if self.jitter:  # the length must not depend on the position of a chain, but may differ between chains
            factor = torch.empty_like(state.energy).uniform_(1 - self.jitter, 1 + self.jitter, generator=rng)
            eps = eps * factor.view(-1, *[1] * (p.dim() - 1))
        end = leapfrog(energy, start, eps, state.mass, self.leapfrog_steps)
        return choose(state, start, end, self.temperature, rng)
