"""The Metropolis-adjusted Langevin algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from ebmkit.components.samplers.leapfrog import HamiltonianState, Phase, choose, leapfrog
from ebmkit.components.samplers.mass import Masses, check_masses, refusal_of
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


@component("mala")
class MALA(Sampler):
    """Metropolis-adjusted Langevin algorithm: Langevin proposals with Metropolis-Hastings correction.

        x* = x - step_size V dE(x) + sqrt(2 step_size T) V^1/2 xi,    xi ~ N(0, I),    V = mass^-1
        a = exp((E(x) - E(x*)) / T) q(x|x*) / q(x*|x)
        x' = x* with probability min(1, a), else x

    It is computed as one leapfrog step of `hmc`, which is equivalent and needs no q: with eta = sqrt(2 step_size),
        p ~ N(0, T M),    x* = x - eta^2/2 M^-1 dE(x) + eta M^-1 p,    p* = p - eta/2 dE(x) - eta/2 dE(x*)
        a = exp((H(x, p) - H(x*, p*)) / T)
    A step takes one gradient. A proposal whose energy is not finite is never accepted.

    Parameters:
        steps: number of steps of a chain.
        step_size: factor of the gradient; `langevin` lists the conventions of the literature. A warm-up tunes it.
        mass: M, one number for all coordinates, one each (an image row by row), or the rows of a matrix. The best M is
            the inverse of the target's covariance. Without it the masses are 1, and a warm-up tunes them.
        temperature: T.
        target_acceptance: mean acceptance that a warm-up tunes to; 0.574 is optimal in many dimensions.

    Reference: Roberts and Tweedie, Bernoulli 2, 1996; Roberts and Rosenthal, J. R. Stat. Soc. B 60, 1998.

    Example: sampler: {use: mala, steps: 1000, step_size: 0.1}
    """

    steps: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] = 0.1
    mass: Masses | None = None
    temperature: Annotated[float, Gt(0)] = 1.0
    target_acceptance: Annotated[float, Gt(0), Lt(1)] = 0.574

    def __post_init__(self) -> None:
        check_masses(self.mass)

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature)

    def refusal(self, question: Question) -> str | None:
        return refusal_of(self.mass, question.event)

    def tunes(self) -> frozenset[str]:
        return frozenset({"step_size"} if self.mass is not None else {"step_size", "mass"})

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> HamiltonianState:
        return HamiltonianState.begin(energy, x, self.step_size, self.mass)

    def step(self, energy: Energy, state: HamiltonianState, rng: Generator) -> tuple[HamiltonianState, StepInfo]:
        p = state.mass.momentum(state.x, rng, self.temperature)
        start = Phase(state.x, p, state.energy, state.gradient)
        end = leapfrog(energy, start, (2 * state.step_size).sqrt(), state.mass)
        return choose(state, start, end, self.temperature, rng)
