"""Trajectories that `nuts` grows by doubling, and how they notice that they turned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ebmkit.components.samplers.leapfrog import DIVERGED, Phase
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Candidate(NamedTuple):
    """A state that a chain may move to: its next trajectory has a momentum of its own."""

    x: Tensor
    energy: Tensor
    gradient: Tensor

    @classmethod
    def of(cls, phase: Phase) -> Candidate:
        """Without the momentum."""
        return cls(phase.x, phase.energy, phase.gradient)


CandidateOrPhase = TypeVar("CandidateOrPhase", Candidate, Phase)


class Trajectory(NamedTuple):
    """A stretch of leapfrog steps, one a chain: its two ends, a state drawn from it, and whether it may grow.

    It is a binary tree whose leaves are states: a stretch of 2^j is two stretches of 2^(j-1), one behind the other.
    """

    back: Phase
    front: Phase
    sample: Candidate
    log_weight: Tensor  # (B,), log of the sum of exp((H_0 - H) / T) over its states
    going: Tensor  # (B,), true while neither it nor a stretch that it is made of has turned or diverged
    diverged: Tensor  # (B,), whether it stopped because of an energy
    acceptance: Tensor  # (B,), sum of min(1, exp((H_0 - H) / T)) over the states that were visited, without the first
    visited: Tensor  # (B,), how many these are

    @classmethod
    def begin(cls, start: Phase) -> Trajectory:
        """Where chains stand. Nothing was visited yet."""
        none, going = torch.zeros_like(start.energy), torch.ones_like(start.energy, dtype=torch.bool)
        return cls(start, start, Candidate.of(start), none, going, ~going, none, none)

    @classmethod
    def leaf(cls, phase: Phase, log_weight: Tensor) -> Trajectory:
        """One state more, at which a trajectory diverged if H is not finite or far above the first."""
        sound = (log_weight > -DIVERGED) & (log_weight < torch.inf)  # false where anything is not a number
        acceptance = torch.where(sound, log_weight, -torch.inf).exp().clamp(max=1)
        return cls(
            phase, phase, Candidate.of(phase), log_weight, sound, ~sound, acceptance, torch.ones_like(acceptance)
        )

    def join(self, later: Trajectory, taken: Tensor) -> Trajectory:
        """This stretch and the one in front of it; where `taken`, the sample is the later one's.

        A chain that stopped before the later stretch has not seen it, though it was computed for the others.
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
        """Joined with a half as long as itself, unless that turned or diverged inside: then it ends as it is."""
        sound = self.going & half.going
        whole = self.join(half, sound & taken)
        return whole._replace(
            front=pick(sound, half.front, self.front),
            log_weight=torch.where(sound, whole.log_weight, self.log_weight),
        )

    def turn_around(self, where: Tensor) -> Trajectory:
        """The same states, run through backwards in time."""
        back, front = (end._replace(p=-end.p) for end in (self.front, self.back))
        return self._replace(back=pick(where, back, self.back), front=pick(where, front, self.front))


def turns(first: Trajectory, second: Trajectory) -> Tensor:
    """Whether two stretches make a U-turn together, or one of them does with the next state of the other.

    The whole alone is not enough: where all directions have one period, two stretches of nearly half a period each are
    a full turn that ends where it began, and look as if they had not turned at all.
    """
    whole = u_turn(first.back, second.front)
    if first.back is first.front:  # two single states, of which there is one pair
        return whole
    return whole | u_turn(first.back, second.back) | u_turn(first.front, second.front)


def u_turn(back: Phase, front: Phase) -> Tensor:
    """Whether going on, at either end, would bring the ends nearer to each other.

        d/dt 1/2 |x_front - x_back|_M^2 = (x_front - x_back) . p    at either end

    M, in whose metric distances are taken, cancels against that of `dx/dt = M^-1 p`. It is the criterion `p . M^-1 rho`
    of general dynamics, whose rho, the integral of p, is `M (x_front - x_back)` where masses are constant.
    """
    apart = (front.x - back.x).flatten(1)
    at_back, at_front = ((apart * end.p.flatten(1)).sum(1) for end in (back, front))
    return torch.minimum(at_back, at_front) < 0


def pick(where: Tensor, one: CandidateOrPhase, other: CandidateOrPhase) -> CandidateOrPhase:
    """`one` in the chains that `where` names, else `other`."""
    pairs = zip(one, other, strict=True)
    return type(one)(*(torch.where(where.view(-1, *[1] * (a.dim() - 1)), a, b) for a, b in pairs))
