"""Steps of a sampler that are so large that few of them cross the target."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import torch

from ebmkit.contracts.kinds import Sampler
from ebmkit.testing.target import Target

#: Parameters that set the size of a step, the first that a sampler has.
SIZES = ("step_size", "stepsize", "step", "epsilon", "eta", "learning_rate", "lr", "dt", "scale", "proposal_std")
#: Factors that are tried, from the smallest.
LADDER = tuple(2.0**k for k in range(-8, 13))
#: Number of chains and of steps that show how far chains move.
CHAINS, TRIED = 400, 16
#: The mean square of a displacement, as a share of that between independent draws: large enough, and too large.
FAR, TOO_FAR = 0.4, 4.0
#: Number of steps of long chains, and of those that cost many evaluations each.
STEPS, BUDGET, FEWEST = 4 * TRIED, 64, 5


@dataclasses.dataclass(frozen=True)
class Pace:
    """A sampler with suitable steps, how many of them, and which parameter sets their size: None if none does."""

    sampler: Sampler
    steps: int
    size: str | None

    @property
    def words(self) -> str:
        at = f" with {self.size} {getattr(self.sampler, self.size):.3g}" if self.size else ""
        return f"a statistic of its chains{at} after {self.steps} steps"

    def resized(self, factor: float) -> Pace:
        """With steps that are larger by a factor, and so much fewer that chains move as far; at least two."""
        assert self.size is not None
        value = factor * getattr(self.sampler, self.size)
        sampler = dataclasses.replace(self.sampler, **{self.size: value})  # type: ignore[type-var]
        return Pace(sampler, max(2, round(self.steps / factor)), self.size)


def paced(sampler: Sampler, target: Target) -> Pace:
    """The sampler with the smallest steps of which sixteen cross the target, and four times as many of them.

    Where the size is no parameter, or steps cost many evaluations, it is used as it is. So are samplers that neither
    follow a gradient nor report an acceptance, such as independent draws: what they call a scale may belong to the
    target.
    """
    traits = sampler.traits()
    if target.module_is_discrete or traits.from_noise or traits.schedule is not None or traits.evaluations > BUDGET:
        return Pace(sampler, FEWEST, None)
    steps = max(FEWEST, min(STEPS, STEPS // traits.evaluations))
    steps_vary = bool(traits.needs & {"gradient", "score"}) or "acceptance" in traits.traces
    size = _size_of(sampler) if steps_vary and not traits.fixed_scale else None
    if size is None:
        return Pace(sampler, steps, None)
    best, farthest = sampler, 0.0
    for candidate in _candidates(sampler, size):
        moved = _moved(candidate, target, min(TRIED, steps))
        if farthest < moved <= TOO_FAR:
            best, farthest = candidate, moved
        if farthest >= FAR:
            break
    return Pace(best, steps, size) if farthest else Pace(sampler, steps, None)


def _size_of(sampler: Sampler) -> str | None:
    fields = {field.name for field in dataclasses.fields(sampler)}  # type: ignore[arg-type]
    return next((name for name in SIZES if name in fields and type(getattr(sampler, name)) is float), None)


def _candidates(sampler: Sampler, size: str) -> list[Sampler]:
    """The sampler with other sizes, within the bounds of the parameter."""
    most = min(_bounds(sampler, size), default=float("inf"))
    found = []
    for factor in LADDER:
        value = factor * getattr(sampler, size)
        if value < most:
            try:
                found.append(dataclasses.replace(sampler, **{size: value}))  # type: ignore[type-var]
            except ValueError:  # its own words about sizes that do not fit its other parameters
                continue
    return found


def _bounds(sampler: Sampler, size: str) -> list[float]:
    """The upper bounds in the annotation of a parameter."""
    hint: Any = typing.get_type_hints(type(sampler), include_extras=True).get(size)
    limits = [getattr(mark, name, None) for mark in getattr(hint, "__metadata__", ()) for name in ("lt", "le")]
    return [float(limit) for limit in limits if limit is not None]


def _moved(sampler: Sampler, target: Target, steps: int) -> float:
    """The mean square of how far chains move, as a share of twice the variance; 0 if they leave all bounds."""
    x = target.draws(CHAINS, 7)
    try:
        ended, _ = target.ended(sampler, x, steps, 8)
    except ValueError:
        return 0.0
    width = 2 * x.flatten(1).var(0).sum()
    found = float((ended - x).flatten(1).square().sum(1).mean() / width)
    return found if torch.isfinite(torch.tensor(found)) else 0.0
