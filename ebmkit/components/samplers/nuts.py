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

    Their number does not depend on the length of a trajectory, so that chains do not depend on each other.
    """

    side: Tensor  # whether time is reversed before doubling j
    move: Tensor  # whether the sample moves to the half added by doubling j
    inside: Tensor  # whether the sample of a segment of 2^(j+1) states is that of its second half


@component("nuts")
class NUTS(Sampler):
    """No-U-Turn sampler: Hamiltonian Monte Carlo with trajectories doubled until they make a U-turn.

        p ~ N(0, T M),    H(x, p) = E(x) + p' M^-1 p / 2
        up to max_depth times, while no segment of 2^i states made by a doubling turns or diverges:
            double the trajectory, forwards or backwards in time, by leapfrog steps of step_size
            x' <- a state of the new half, drawn in proportion to w = exp(-H/T),
                  with probability min(1, sum of w over the new half / sum of w over the old one)
        a segment turns if (x_last - x_first) . p < 0 at its first or last state, or if one half of it joined with the
            next state of the other half does

    A half that turns or diverges inside is discarded, because the trajectory could not have started from all of its
    states. With all of these checks `exp(-E/T)` is stationary for every step size. A half diverges at a state that is
    not finite or where H is more than 1000 T above the start; divergences are counted.

    A leapfrog step takes one gradient. All chains double together: a step takes as many gradients as its longest
    trajectory, at most 2^max_depth - 1, and the host synchronises before each doubling to see if any chain continues.

    Parameters:
        steps: number of trajectories of a chain.
        step_size: step size of the leapfrog integrator. A warm-up tunes it.
        max_depth: maximum number of doublings of a trajectory.
        mass: M, one number for all coordinates, one each (an image row by row), or the rows of a matrix. The best M is
            the inverse of the target's covariance. Without it the masses are 1, and a warm-up tunes them.
        temperature: T.
        target_acceptance: mean of min(1, exp((H_0 - H) / T)) over a trajectory that a warm-up tunes to. Raise it if
            trajectories diverge.

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
        most = 2**self.max_depth - 1
        return super().traits()._replace(temperature=self.temperature, host_syncs=self.max_depth - 1, evaluations=most)

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
        """The trajectory, doubled until every chain has turned or diverged, or `max_depth` times."""
        start = Phase(state.x, p, state.energy, state.gradient)
        first = start.hamiltonian(state.mass)

        def one_step(phase: Phase) -> Trajectory:
            phase = leapfrog(energy, phase, state.step_size, state.mass)
            return Trajectory.leaf(phase, (first - phase.hamiltonian(state.mass)) / self.temperature)

        trajectory = Trajectory.begin(start)
        for depth in range(self.max_depth):
            if depth and not trajectory.going.any():  # the only host synchronisation
                break
            trajectory = trajectory.turn_around(uniforms.side[depth] < 0.5)
            half = _segment(one_step, trajectory.front, depth, uniforms.inside)
            odds = (half.log_weight - trajectory.log_weight).exp()
            trajectory = trajectory.double(half, uniforms.move[depth] < odds)
        return trajectory


def _segment(one_step: Callable[[Phase], Trajectory], front: Phase, depth: int, inside: Tensor) -> Trajectory:
    """The `2^depth` states that follow a state, and one of them drawn by weight.

    All segments of one depth share their random numbers: only one of them contains the state that is drawn.
    """
    if depth == 0:
        return one_step(front)
    first = _segment(one_step, front, depth - 1, inside)
    second = _segment(one_step, first.front, depth - 1, inside)
    share = (second.log_weight - first.log_weight).sigmoid()
    return first.join(second, inside[depth - 1] < share)
