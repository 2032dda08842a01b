"""The trajectories of `nuts`: binary trees of leapfrog steps, and the U-turn criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ebmkit.components.samplers.leapfrog import DIVERGED, Phase
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Candidate(NamedTuple):
    """A state that a chain may move to. It has no momentum, because the next trajectory draws another one."""

    x: Tensor
    energy: Tensor
    gradient: Tensor

    @classmethod
    def of(cls, phase: Phase) -> Candidate:
        """The candidate without the momentum."""
        return cls(phase.x, phase.energy, phase.gradient)


CandidateOrPhase = TypeVar("CandidateOrPhase", Candidate, Phase)


class Trajectory(NamedTuple):
    """A segment of leapfrog states per chain: its two ends, a state drawn from it, and whether it may grow.

    It is a binary tree whose leaves are states: a segment of 2^j states is two consecutive segments of 2^(j-1).
    """

    back: Phase
    front: Phase
    sample: Candidate
    log_weight: Tensor  # (B,), log of the sum of exp((H_0 - H) / T) over its states
    going: Tensor  # (B,), true while neither it nor a segment inside it has turned or diverged
    diverged: Tensor  # (B,), whether it stopped because of an energy
    acceptance: Tensor  # (B,), sum of min(1, exp((H_0 - H) / T)) over the visited states, without the first
    visited: Tensor  # (B,), number of these states

    @classmethod
    def begin(cls, start: Phase) -> Trajectory:
        """The trajectory of the start alone, before any state is visited."""
        none, going = torch.zeros_like(start.energy), torch.ones_like(start.energy, dtype=torch.bool)
        return cls(start, start, Candidate.of(start), none, going, ~going, none, none)

    @classmethod
    def leaf(cls, phase: Phase, log_weight: Tensor) -> Trajectory:
        """A single state, which is divergent if H is not finite or far above the first."""
        sound = (log_weight > -DIVERGED) & (log_weight < torch.inf)  # false if anything is NaN
        acceptance = torch.where(sound, log_weight, -torch.inf).exp().clamp(max=1)
        return cls(
            phase, phase, Candidate.of(phase), log_weight, sound, ~sound, acceptance, torch.ones_like(acceptance)
        )

    def join(self, later: Trajectory, taken: Tensor) -> Trajectory:
        """This segment and the one that follows it; where `taken`, the sample is the later one's.

        A chain that stopped before the later segment ignores it, though it was computed for the others.
        """
        return Trajectory(
            back=self.back,
            front=later.front,
            sample=pick(taken, later.sample, self.sample),
            log_weight=torch.logaddexp(self.log_weight, later.log_weight),
            going=self.going & later.going & ~turns(self, later),
            diverged=self.diverged | (self.going & later.diverged),
            acceptance=self.acceptance + self.going * later.acceptance,
            visited=self.visited + self.going * later.visited,
        )

    def double(self, half: Trajectory, taken: Tensor) -> Trajectory:
        """This segment joined with one of the same length; unchanged if that one turned or diverged inside."""
        sound = self.going & half.going
        whole = self.join(half, sound & taken)
        return whole._replace(
            front=pick(sound, half.front, self.front),
            log_weight=torch.where(sound, whole.log_weight, self.log_weight),
        )

    def turn_around(self, where: Tensor) -> Trajectory:
        """The same states, reversed in time."""
        back, front = (end._replace(p=-end.p) for end in (self.front, self.back))
        return self._replace(back=pick(where, back, self.back), front=pick(where, front, self.front))


def turns(first: Trajectory, second: Trajectory) -> Tensor:
    """Whether two segments make a U-turn together, or one of them does with the next state of the other.

    The whole alone is not enough: if all directions have the same period, two segments of nearly half a period each are
    a full turn that ends at its start, and appear not to have turned at all.
    """
    whole = u_turn(first.back, second.front)
    if first.back is first.front:  # two single states form one pair
        return whole
    return whole | u_turn(first.back, second.back) | u_turn(first.front, second.front)


def u_turn(back: Phase, front: Phase) -> Tensor:
    """Whether continuing at either end would bring the ends nearer to each other.

        d/dt 1/2 |x_front - x_back|_M^2 = (x_front - x_back) . p    at either end

    M, the metric of these distances, cancels against that of `dx/dt = M^-1 p`. It is the criterion `p . M^-1 rho` of
    general dynamics, whose rho, the integral of p, is `M (x_front - x_back)` for constant masses.
    """
    apart = (front.x - back.x).flatten(1)
    at_back, at_front = ((apart * end.p.flatten(1)).sum(1) for end in (back, front))
    return torch.minimum(at_back, at_front) < 0


def pick(where: Tensor, one: CandidateOrPhase, other: CandidateOrPhase) -> CandidateOrPhase:
    """`one` for the chains where `where` is true, else `other`."""
    pairs = zip(one, other, strict=True)
    return type(one)(*(torch.where(where.view(-1, *[1] * (a.dim() - 1)), a, b) for a, b in pairs))
