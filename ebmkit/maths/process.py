"""Quantities derived from a noise schedule: drift and diffusion, and the level for a given amount of noise."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.unmeasurable import Unmeasurable

if TYPE_CHECKING:
    from torch import Tensor

#: Number of bisections, enough to find a time to the last bit.
HALVINGS = 80
#: Number of times at which a process is checked.
LOOKS = 100
#: Number of levels whose values are cached, because chains use the same ones repeatedly.
LATELY = 1 << 14


def rates(schedule: Schedule, t: Tensor) -> tuple[Tensor, Tensor]:
    """Drift f and squared diffusion g^2 at times t, of `dx = f x dt + g dB`.

    They follow from the derivatives of signal a and noise n: f = (log a)', g^2 = (n^2)' - 2 f n^2.
    """
    with torch.enable_grad():
        time = t.detach().requires_grad_()
        signal, noise = schedule.at(time)
        drift, growth = (_slope(value, time) for value in (signal.log(), noise.square()))
    return drift, growth - 2 * drift * noise.detach().square()


def _slope(value: Tensor, time: Tensor) -> Tensor:
    if not value.requires_grad:  # constant in time
        return torch.zeros_like(time)
    return torch.autograd.grad(value.sum(), time, retain_graph=True)[0]  # the two values share parts of the graph


@lru_cache(maxsize=LATELY)
def rates_at(schedule: Schedule, t: float) -> tuple[float, float]:
    """Drift and squared diffusion at one time, as plain numbers."""
    drift, diffusion = rates(schedule, torch.tensor(t, device="cpu", dtype=torch.float64))
    return float(drift), float(diffusion)


def log_sigma(schedule: Schedule, t: Tensor) -> Tensor:
    """The logarithm of noise / signal at times t."""
    signal, noise = schedule.at(t)
    return noise.log() - signal.log()


def time_of(schedule: Schedule, sigma: Tensor) -> Tensor:
    """The times at which noise / signal is sigma, by bisection; the nearer end for values out of range."""
    wanted = sigma.log()
    low, high = (torch.full_like(wanted, end) for end in (schedule.earliest, schedule.horizon))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = log_sigma(schedule, middle) > wanted
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return (low + high) / 2


def check_schedule(schedule: Schedule) -> None:
    """Raise a ValueError with the place if noise does not decrease from level to level, or grow with time."""
    who = f"schedule '{schedule.component_name}'"
    if schedule.conditioning == "sigma":
        levels = schedule.levels()
        if levels.shape != (schedule.count,):
            raise ValueError(f"{who} has 'count' {schedule.count}, but levels of shape {tuple(levels.shape)}")
        if not bool(levels.isfinite().all() and (levels > 0).all() and (levels.diff() < 0).all()):
            raise ValueError(f"{who} has levels that are not positive and decreasing: {levels.tolist()[:5]} ...")
        return
    t = torch.linspace(schedule.earliest, schedule.horizon, LOOKS, device="cpu", dtype=torch.float64)
    rises = log_sigma(schedule, t).diff()
    if not bool(rises.isfinite().all() and (rises > 0).all()):
        at = float(t[int((~(rises > 0)).nonzero()[0])])
        raise ValueError(f"{who} has noise / signal that does not grow with time, at t = {at:.4g}")


def some_levels(schedule: Schedule, count: int) -> list[float]:
    """This many levels of a list, evenly by their numbers, from the most noise to the least; one is the least."""
    known = schedule.levels().tolist()
    shares = [k / (count - 1) for k in range(count)] if count > 1 else [1.0]
    return [known[round(share * (len(known) - 1))] for share in shares]


def most_noise(schedule: Schedule) -> float:
    """The level at which there is most noise."""
    return float(schedule.levels()[0]) if schedule.conditioning == "sigma" else schedule.horizon


def least_noise(schedule: Schedule) -> float:
    """The level at which there is least noise."""
    return float(schedule.levels()[-1]) if schedule.conditioning == "sigma" else schedule.earliest


@lru_cache(maxsize=LATELY)
def signal_and_noise(schedule: Schedule, level: float) -> tuple[float, float]:
    """Signal and noise at one level, as plain numbers."""
    if schedule.conditioning == "sigma":
        return 1.0, level
    signal, noise = schedule.at(torch.tensor(level, device="cpu", dtype=torch.float64))
    return float(signal), float(noise)


def range_of(schedule: Schedule) -> tuple[float, float]:
    """Noise / signal where there is most noise, and where there is least."""
    ends = (signal_and_noise(schedule, level) for level in (most_noise(schedule), least_noise(schedule)))
    most, least = (noise / signal for signal, noise in ends)
    return most, least


def level_and_signal(schedule: Schedule | None, sigma: float) -> tuple[float | None, float]:
    """Where a model has the score of states y = x + sigma xi: at this level, in units in which y is signal y.

    With it Tweedie's formula is `E[x | y] = y + sigma^2 signal s(signal y)`. A model without a schedule is taken to be
    one of states with that noise.
    """
    if schedule is None:
        return None, 1.0
    level = level_of(schedule, sigma)
    return level, signal_and_noise(schedule, level)[0]


def level_of(schedule: Schedule, sigma: float) -> float:
    """The level at which noise / signal is sigma. Between two noise levels a network has to interpolate."""
    most, least = range_of(schedule)
    if not least * (1 - 1e-6) <= sigma <= most * (1 + 1e-6):
        raise Unmeasurable(
            f"noise of {sigma:g} is outside the range of the model's training, {least:.3g} to {most:.3g}"
        )
    if schedule.conditioning == "sigma":
        return sigma
    return float(time_of(schedule, torch.tensor([sigma], device="cpu", dtype=torch.float64)))
