"""Times and coefficients of the steps of reverse diffusions, computed before sampling."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.lazy import torch
from ebmkit.maths.process import log_sigma, rates, time_of

if TYPE_CHECKING:
    from torch import Tensor

#: Whether the steps of a sampler have equal size in time, or in the logarithm of the ratio of noise to signal.
Spacing: TypeAlias = Literal["log_snr", "time"]

#: Nodes of the Gauss-Legendre rule on each part of a step, and the largest change of log(noise / signal) over a part.
NODES, LOG_TEN = 32, log(10)

#: Number of steps after which the adaptive solver gives up on its tolerance.
TRIES = 1000


class ReverseStep(NamedTuple):
    """One step, from a time back to an earlier one. Plain numbers, so that a chain never waits for a device.

    The process is `dx = drift x dt + sqrt(diffusion) dB`. With the score s constant over the step,

        stretch x + kick s + spread xi

    solves the reverse process exactly: stretch = a'/a, kick = a' integral of a d(sigma^2), spread^2 = a'^2 (sigma^2 -
    sigma'^2), where a is the signal, sigma = noise / signal, and primes belong to the earlier time.
    """

    start: float
    end: float
    #: At the start.
    drift: float
    diffusion: float
    #: Over the step.
    stretch: float
    kick: float
    spread: float
    #: At the end.
    signal: float
    noise: float


def times(schedule: Schedule, steps: int, spacing: Spacing) -> Tensor:
    """The times between the steps, from the last to the earliest, `(steps + 1,)`, in float64 on the CPU."""
    ends = torch.tensor([schedule.horizon, schedule.earliest], device="cpu", dtype=torch.float64)
    share = torch.linspace(0, 1, steps + 1, device="cpu", dtype=torch.float64)
    if spacing == "time":
        found = ends[0] + (ends[1] - ends[0]) * share
    else:
        first, last = log_sigma(schedule, ends)
        found = time_of(schedule, (first + (last - first) * share).exp())
    found[0], found[-1] = ends
    return found


@lru_cache(maxsize=16)
def reverse_steps(schedule: Schedule, steps: int, spacing: Spacing) -> tuple[ReverseStep, ...]:
    """All steps from noise to data. Cached, because every block of chains uses the same ones."""
    t = times(schedule, steps, spacing)
    signal, noise = schedule.at(t)
    sigma = noise / signal
    drift, diffusion = rates(schedule, t[:-1])
    nodes, weights = _gauss_legendre(_parts(schedule, t))
    between, _ = schedule.at(nodes)
    _, growth = rates(schedule, nodes)
    kick = signal[1:] * (weights * growth / between).sum((1, 2))  # d(sigma^2) = diffusion / signal^2 dt
    spread = signal[1:] * (sigma[:-1].square() - sigma[1:].square()).sqrt()
    columns = [t[:-1], t[1:], drift, diffusion, signal[1:] / signal[:-1], kick, spread, signal[1:], noise[1:]]
    return tuple(ReverseStep(*row) for row in torch.stack(columns, 1).tolist())


def _parts(schedule: Schedule, t: Tensor) -> Tensor:
    """The bounds of parts of each step over which noise / signal falls at most tenfold, `(steps, parts + 1)`.

    A signal that nearly vanishes at the last time, as in `cosine`, is not close to a polynomial over a longer interval.
    """
    at = log_sigma(schedule, t).unsqueeze(1)
    parts = ceil(max((at[:-1] - at[1:]).flatten().tolist()) / LOG_TEN)
    share = torch.linspace(0, 1, parts + 1, device="cpu", dtype=torch.float64)[1:-1]
    within = time_of(schedule, (at[:-1] + (at[1:] - at[:-1]) * share).exp())
    return torch.cat([t[:-1].unsqueeze(1), within, t[1:].unsqueeze(1)], 1)


def _gauss_legendre(t: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights of a rule on each part, `(steps, parts, NODES)`, from the eigenvalues of its Jacobi matrix."""
    k = torch.arange(1, NODES, device="cpu", dtype=torch.float64)
    off_diagonal = k / (4 * k.square() - 1).sqrt()
    node, vector = torch.linalg.eigh(off_diagonal.diag(1) + off_diagonal.diag(-1))
    early, late = t[:, 1:].unsqueeze(2), t[:, :-1].unsqueeze(2)
    half = (late - early) / 2
    return early + half * (1 + node), half * 2 * vector[0].square()
