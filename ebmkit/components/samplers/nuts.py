"""The No-U-Turn sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

from annotated_types import Ge, Gt, Lt

from ebmkit.components.samplers.leapfrog import HamiltonianState, Phase, leapfrog
from ebmkit.components.samplers.mass import Masses, check_masses, refusal_of
from ebmkit.components.samplers.trajectory import Trajectory
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class Uniforms(NamedTuple):
    """The random numbers of a step, each `(max_depth, B)` in [0, 1).

    As many for a short trajectory as for a long one, so that no chain depends on how far another one goes.
    """

    side: Tensor  # whether the trajectory turns around in time before doubling j
    move: Tensor  # whether the sample moves on to the half that doubling j added
    inside: Tensor  # whether the sample of a stretch of 2^(j+1) is that of its second half


@component("nuts")
class NUTS(Sampler):
    """Hamiltonian Monte Carlo that goes on until its trajectory turns back, and so needs no length.

        p ~ N(0, T M),    H(x, p) = E(x) + p' M^-1 p / 2
        up to max_depth times, while no stretch of 2^i states that a doubling made turns or diverges:
            double the trajectory, forwards or backwards in time, by leapfrog steps of step_size
            x' <- a state of the new half, drawn in proportion to w = exp(-H/T),
                  with probability min(1, sum of w over the new half / sum of w over the old one)
        a stretch turns if (x_last - x_first) . p < 0 at its first or last state, or if one half of it and the next
            state of the other half do

    A half that turns or diverges inside is thrown away: from some of its states the trajectory could not have come.
    With all of these checks `exp(-E/T)` is stationary, whatever the step size. A half diverges at a state that is not
    finite or where H is more than 1000 T above the start; that is counted.

    A leapfrog step asks for one gradient. All chains double together: a step takes as many gradients as its longest
    trajectory, at most 2^max_depth - 1, and before each doubling the host asks whether any chain goes on.

    Parameters:
        steps: how many trajectories a chain makes.
        step_size: how fine a trajectory is computed. A warm-up tunes it.
        max_depth: how often a trajectory is doubled at most.
        mass: M, a number for all coordinates, one each (an image row by row), or the rows of a matrix. The best M is
            the inverse of the target's covariance. Without it the masses are 1, and a warm-up tunes them.
        temperature: T.
        target_acceptance: what a warm-up tunes the mean of min(1, exp((H_0 - H) / T)) over a trajectory to. Raise it
            where trajectories diverge.

    Reference: Hoffman and Gelman, JMLR 15, 2014; Betancourt, arXiv:1701.02434, appendix A.

    Example: sampler: {use: nuts, steps: 200, step_size: 0.5}
    """

    steps: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] = 0.2
    max_depth: Annotated[int, Ge(1)] = 10
    mass: Masses | None = None
    temperature: Annotated[float, Gt(0)] = 1.0
    target_acceptance: Annotated[float, Gt(0), Lt(1)] = 0.8

    def __post_init__(self) -> None:
        check_masses(self.mass)

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature, host_syncs=self.max_depth - 1)

    def refusal(self, question: Question) -> str | None:
        return refusal_of(self.mass, question.event)

    def tunes(self) -> frozenset[str]:
        return frozenset({"step_size"} if self.mass is not None else {"step_size", "mass"})

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> HamiltonianState:
        return HamiltonianState.begin(energy, x, self.step_size, self.mass)

    def step(self, energy: Energy, state: HamiltonianState, rng: Generator) -> tuple[HamiltonianState, StepInfo]:
        p = state.mass.momentum(state.x, rng, self.temperature)
        uniforms = Uniforms(*state.x.new_empty(3, self.max_depth, len(p)).uniform_(generator=rng))
        trajectory = self.trajectory(energy, state, p, uniforms)
        acceptance = trajectory.acceptance / trajectory.visited
        info = StepInfo(state.energy, state.gradient, acceptance, trajectory.diverged.to(acceptance.dtype))
        return state._replace(**trajectory.sample._asdict()), info

    def trajectory(self, energy: Energy, state: HamiltonianState, p: Tensor, uniforms: Uniforms) -> Trajectory:
        """Doubled until every chain has turned or diverged, or `max_depth` times."""
        start = Phase(state.x, p, state.energy, state.gradient)
        first = start.hamiltonian(state.mass)

        def one_step(phase: Phase) -> Trajectory:
            phase = leapfrog(energy, phase, state.step_size, state.mass)
            return Trajectory.leaf(phase, (first - phase.hamiltonian(state.mass)) / self.temperature)

        trajectory = Trajectory.begin(start)
        for depth in range(self.max_depth):
            if depth and not trajectory.going.any():  # the host waits here, and nowhere else
                break
            trajectory = trajectory.turn_around(uniforms.side[depth] < 0.5)
            half = _stretch(one_step, trajectory.front, depth, uniforms.inside)
            odds = (half.log_weight - trajectory.log_weight).exp()
            trajectory = trajectory.double(half, uniforms.move[depth] < odds)
        return trajectory


def _stretch(one_step: Callable[[Phase], Trajectory], front: Phase, depth: int, inside: Tensor) -> Trajectory:
    """The `2^depth` states in front of a state, and one of them drawn by weight.

    All stretches of one depth share their random numbers: only one of them lies on the way to the state that is drawn.
    """
    if depth == 0:
        return one_step(front)
    first = _stretch(one_step, front, depth - 1, inside)
    second = _stretch(one_step, first.front, depth - 1, inside)
    share = (second.log_weight - first.log_weight).sigmoid()
    return first.join(second, inside[depth - 1] < share)
