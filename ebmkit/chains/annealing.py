"""Annealed importance sampling: weighted chains along a path of distributions, from either end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import torch
from torch import Generator, Tensor

from ebmkit.contracts.energy import Energy
from ebmkit.contracts.kinds import Sampler, State

#: Chains of the pilot run, and the share of the temperatures that it visits.
PILOT, SHARE = 32, 4
#: Steps of the pilot at its first temperature, in which the step size is found.
FIRST = 50
#: How fast the pilot adapts the logarithm of the step size to the acceptance.
RATE = 0.5
#: The spacing of the pilot, which does not know the path yet: beta = t^POWER resolves its beginning.
POWER = 4
#: The share of the temperatures that are evenly spaced, so that none of the intervals is skipped.
EVEN = 0.25


class Path(Protocol):
    """A module whose energy leads from that of a base at beta 0 to that of a model at beta 1."""

    beta: Tensor | float

    def tilt(self, x: Tensor, *, gradient: bool = False) -> Tensor:
        """Minus the derivative of the energy in beta, `E_base - E`, `(B,)`."""

    def increment(self, x: Tensor, before: Tensor, now: Tensor, *, gradient: bool = False) -> Tensor:
        """The log weight of states between two values of beta, `E_before - E_now`, `(B,)`."""


class Ladder(NamedTuple):
    """The values of beta `(K + 1,)` from 0 to 1, and the step size at each of them if the sampler has one."""

    betas: Tensor
    step_sizes: Tensor | None = None

    @classmethod
    def even(cls, count: int, like: Tensor) -> Ladder:
        """Evenly spaced, with the step size of the sampler itself."""
        return cls(torch.linspace(0, 1, count + 1, device=like.device, dtype=like.dtype))


class Transitions:
    """Steps of a sampler that leave `exp(-E_beta)` invariant. `energy` is that of `path`, frozen."""

    def __init__(self, sampler: Sampler, energy: Energy, path: Path, rng: Generator) -> None:
        self.sampler, self.energy, self.path, self.rng = sampler, energy, path, rng
        self.gradient = "gradient" in sampler.traits().needs

    def tilt(self, x: Tensor) -> Tensor:
        """`E_base - E`; with the gradient if the sampler will need it, at the cost of one evaluation for both."""
        return self.path.tilt(x, gradient=self.gradient)

    def increment(self, x: Tensor, before: Tensor, now: Tensor) -> Tensor:
        """The log weight of states between two values of beta."""
        return self.path.increment(x, before, now, gradient=self.gradient)

    def move(self, x: Tensor, beta: Tensor, step_size: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The states after the steps of the sampler at this beta, and the acceptance `(B,)` of the last step.

        A state of a sampler holds energies at its own beta, so every beta begins with a new one.
        """
        self.path.beta = beta
        state: State = self.sampler.init(self.energy, x, self.rng)
        if step_size is not None:
            state = with_step_size(state, step_size)
        acceptance = None
        for _ in range(self.sampler.steps):
            state, info = self.sampler.step(self.energy, state, self.rng)
            acceptance = info.acceptance
        return state.x, acceptance


def with_step_size(state: Any, step_size: Tensor) -> Any:
    """The same state of a sampler with another step size."""
    return state._replace(step_size=step_size)


def anneal(transitions: Transitions, ladder: Ladder, x: Tensor, *, reverse: bool = False) -> Tensor:
    """Log weights `(B,)` of chains from `x`, in float64 on the host, without host synchronisation on the way.

        forward, x ~ base:   log w = sum_k (beta_k - beta_{k-1}) (E_base - E)(x_{k-1}),    E[w] = Z / Z_base
        reverse, x ~ model:  log w = sum_k (beta_{k-1} - beta_k) (E_base - E)(x_k),        E[w] = Z_base / Z

    Between two increments the chains move at the beta that was reached.
    """
    increments = []
    order = range(len(ladder.betas))
    stops = list(reversed(order) if reverse else order)
    for before, now in pairwise(stops):
        increments.append(transitions.increment(x, ladder.betas[before], ladder.betas[now]))
        if now != stops[-1]:
            step_size = None if ladder.step_sizes is None else ladder.step_sizes[now]
            x, _ = transitions.move(x, ladder.betas[now], step_size)
    return torch.stack(increments).cpu().double().sum(0)


def tunes(sampler: Sampler) -> bool:
    """Whether a pilot run finds the step sizes of a sampler."""
    return sampler.target_acceptance is not None and "step_size" in sampler.tunes()


def pilot(transitions: Transitions, count: int, x: Tensor) -> Ladder:
    """Values of beta and step sizes that suit the path, found by chains from the base that are then discarded.

    Betas are spaced in proportion to the spread of `E_base - E`, so that all increments have about the same variance;
    step sizes follow the target acceptance. Chains that do not depend on these keep their weights unbiased.
    """
    seen = list(_visits(transitions, max(2, count // SHARE), x))
    betas, spreads = (torch.stack([getattr(each, name) for each in seen]) for name in ("beta", "spread"))
    # A spread may overflow near the base, where the energy of the model can be anything. It only decides the spacing.
    spreads = torch.where(spreads.isfinite(), spreads, 0)
    lengths = (spreads[1:] + spreads[:-1]) / 2 * betas.diff()
    whole = lengths.sum()
    shares = torch.where(whole > 0, lengths / whole, betas.diff())
    along = torch.cat([betas.new_zeros(1), ((1 - EVEN) * shares + EVEN * betas.diff()).cumsum(0)])
    spaced = interpolate(torch.linspace(0, 1, count + 1, device=x.device, dtype=x.dtype), along / along[-1], betas)
    spaced[0], spaced[-1] = 0, 1  # without rounding errors: the ends are the base and the model
    if seen[0].log_step is None:
        return Ladder(spaced)
    steps = torch.stack([each.log_step for each in seen if each.log_step is not None])
    return Ladder(spaced, interpolate(spaced, betas, steps).exp())


class _Visit(NamedTuple):
    """What the pilot sees at one beta."""

    beta: Tensor
    #: The interquartile range of `E_base - E`.
    spread: Tensor
    log_step: Tensor | None


def _visits(transitions: Transitions, count: int, x: Tensor) -> Iterator[_Visit]:
    """The pilot at every beta from 0 to 1."""
    betas = torch.linspace(0, 1, count + 1, device=x.device, dtype=x.dtype) ** POWER
    sampler, log_step = transitions.sampler, None
    if tunes(sampler):
        transitions.path.beta = betas[1]
        begun: Any = sampler.init(transitions.energy, x, transitions.rng)
        log_step = begun.step_size.log()
        for _ in range(FIRST):
            x, log_step = _adapted(transitions, betas[1], x, log_step)
    for index in range(count + 1):
        if index:
            x, log_step = _adapted(transitions, betas[index], x, log_step)
        low, high = torch.quantile(transitions.tilt(x), x.new_tensor([0.25, 0.75])).unbind()
        yield _Visit(betas[index], high - low, log_step)


def _adapted(
    transitions: Transitions, beta: Tensor, x: Tensor, log_step: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The states after a move, and the step size after it."""
    x, acceptance = transitions.move(x, beta, None if log_step is None else log_step.exp())
    if log_step is None or acceptance is None:
        return x, log_step
    assert transitions.sampler.target_acceptance is not None  # of every sampler that is tuned
    return x, log_step + RATE * (acceptance.mean() - transitions.sampler.target_acceptance)


def interpolate(at: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The piecewise linear function through the points `(x, y)`, x increasing, at other points."""
    right = torch.searchsorted(x, at).clamp(1, len(x) - 1)
    x0, x1, y0, y1 = x[right - 1], x[right], y[right - 1], y[right]
    return torch.lerp(y0, y1, ((at - x0) / (x1 - x0)).clamp(0, 1))
