"""Warm-up: adaptation of step size and masses.

All chains share one step size and one set of masses, so that many chains need few steps. There is no host
synchronisation. Nothing is adapted after the warm-up, so later draws come from the correct distribution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ebmkit.chains.mass import Mass
from ebmkit.contracts.kinds import Sampler, StepInfo

#: Fractions of the warm-up, at its beginning and at its end, in which masses are not adapted.
BEFORE, AFTER = 0.15, 0.10
#: Steps of the first window, and the minimum at the end, which the step size needs to settle.
FIRST = 25


class DualAveraging(NamedTuple):
    """Dual averaging of the step size towards a target acceptance (Hoffman and Gelman, JMLR 15, 2014, section 3.2).

    H_t = (1 - 1/(t + t0)) H_{t-1} + (target - acceptance_t) / (t + t0)
    log eps_t = mu - sqrt(t) / gamma H_t,    the result is the mean of log eps_t with weights t^-kappa
    """

    center: Tensor
    error: Tensor
    log_mean: Tensor
    time: int = 0

    @classmethod
    def begin(cls, step_size: Tensor) -> DualAveraging:
        """Start at a guess; larger steps are tried first, because they are cheaper if they work."""
        return cls((10 * step_size).log(), torch.zeros_like(step_size), step_size.log())

    def update(self, acceptance: Tensor, target: float) -> tuple[DualAveraging, Tensor]:
        """After a step with this mean acceptance: the average, and the step size to try next."""
        # The paper uses gamma = 0.05, with which a steep acceptance oscillates for hundreds of steps.
        gamma, t0, kappa, t = 0.1, 10, 0.75, self.time + 1
        error = self.error + (target - acceptance - self.error) / (t + t0)
        log_step = self.center - t**0.5 / gamma * error
        log_mean = self.log_mean + t**-kappa * (log_step - self.log_mean)
        return DualAveraging(self.center, error, log_mean, t), log_step.exp()


class Spread(NamedTuple):
    """The variance of every coordinate over chains and steps, updated step by step."""

    mean: Tensor
    squares: Tensor
    seen: int = 0

    @classmethod
    def begin(cls, x: Tensor) -> Spread:
        """The state before any update."""
        return cls(torch.zeros_like(x[0]), torch.zeros_like(x[0]))

    def update(self, x: Tensor) -> Spread:
        """Include one more state of every chain (Chan, Golub and LeVeque, 1983)."""
        n, total = len(x), self.seen + len(x)
        mean = x.mean(0)
        off = mean - self.mean
        squares = self.squares + (x - mean).square().sum(0) + off.square() * (self.seen * n / total)
        return Spread(self.mean + off * (n / total), squares, total)

    def variance(self) -> Tensor:
        """Shrunk towards the geometric mean over coordinates with the weight of five states; the arithmetic mean would
        dominate small variances."""
        log_variance = (self.squares / max(1, self.seen - 1)).log()
        moved = log_variance != -torch.inf  # coordinates that never moved carry no information and stay at zero
        mean = log_variance.where(moved, 0).sum() / moved.sum()
        return torch.where(moved, log_variance.lerp(mean, 5 / (self.seen + 5)), -torch.inf).exp()


class WarmUp:
    """A warm-up of `steps` steps, which adapts what `sampler.tunes()` names after each of them."""

    def __init__(self, sampler: Sampler, state: Any, steps: int) -> None:
        self.steps = steps
        self.average, self.spread = DualAveraging.begin(state.step_size), Spread.begin(state.x)
        #: The step sizes tried so far.
        self.tried: list[Tensor] = []
        self._tunes, self._target = sampler.tunes(), sampler.target_acceptance
        self._ends = window_ends(steps) if "mass" in self._tunes else []

    def adapt(self, step: int, state: Any, info: StepInfo) -> Any:
        """The state after this step, the first of which is 1, with what was learned from it."""
        assert self._target is not None  # ensured by resolve
        assert info.acceptance is not None  # samplers that can be tuned report it
        self.average, step_size = self.average.update(info.acceptance.mean(), self._target)
        state = state._replace(step_size=step_size)
        self.tried.append(step_size)
        if self._ends and round(BEFORE * self.steps) < step <= self._ends[-1]:
            self.spread = self.spread.update(state.x)
            if step in self._ends:
                variance = self.spread.variance()  # zero if no chain has moved yet
                state = state._replace(mass=Mass.diagonal(torch.where(variance == 0, state.mass.inverse, variance)))
                self.average = DualAveraging.begin(self.average.log_mean.exp())
                self.spread = Spread.begin(state.x)
        return state if step < self.steps else state._replace(step_size=self.average.log_mean.exp())

    def found(self, state: Any) -> dict[str, Tensor]:
        """The step size, the masses and the step sizes that were tried, after the last step."""
        mass = {"inverse_mass": state.mass.inverse} if "mass" in self._tunes else {}
        return {"step_size": state.step_size, "step_sizes": torch.stack(self.tried), **mass}


def window_ends(steps: int) -> list[int]:
    """The steps after which masses are updated. Each window is twice as long as the one before, because chains are
    closer to equilibrium; the last takes the remaining steps."""
    first, last = round(BEFORE * steps), steps - max(FIRST, round(AFTER * steps))
    ends, size = [], FIRST
    end = first + size
    while end + 2 * size <= last:
        ends.append(end)
        size *= 2
        end += size
    return [*ends, last] if last - first >= 10 else []
