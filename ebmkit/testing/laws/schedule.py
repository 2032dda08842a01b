"""The laws of noise schedules."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.contracts.kinds import Schedule
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.partner import data
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unmoved

#: Times at which a process is looked at.
TIMES = 200


def _fitted(schedule: Schedule) -> Schedule:
    return schedule.fitted(data((2,)))


def _levels(schedule: Schedule) -> Tensor:
    if schedule.conditioning != "sigma":
        raise Inapplicable("it is a process in time")
    return _fitted(schedule).levels()


def _times(schedule: Schedule) -> Tensor:
    if schedule.conditioning != "time":
        raise Inapplicable("it is a list of levels")
    return torch.linspace(schedule.earliest, schedule.horizon, TIMES, dtype=torch.float64)


def falls(schedule: Schedule, case: Case) -> None:
    """The levels are `count` finite positive numbers, from the largest to the smallest, in float64 on the CPU."""
    levels = _levels(schedule)
    require(
        levels.shape == (schedule.count,), f"the levels have shape {tuple(levels.shape)}, count is {schedule.count}"
    )
    require(levels.dtype == torch.float64 and levels.device.type == "cpu", f"the levels are {levels.dtype}")
    require(bool(levels.isfinite().all() and (levels > 0).all()), f"the levels are {levels.tolist()[:5]}")
    rise = float(levels.diff().max()) if len(levels) > 1 else -1.0
    require(rise < 0, f"a level is {rise:.3g} above the one before")


def grows(schedule: Schedule, case: Case) -> None:
    """Signal and noise of a process are finite and positive from the earliest time to the last, of the shape and dtype
    of the times, and their ratio grows."""
    t, process = _times(schedule), _fitted(schedule)
    require(0 <= schedule.earliest < schedule.horizon, f"times run from {schedule.earliest} to {schedule.horizon}")
    signal, noise = process.at(t)
    for name, value in {"signal": signal, "noise": noise}.items():
        require(value.shape == t.shape and value.dtype == t.dtype, f"{name} is {value.dtype}, {tuple(value.shape)}")
        require(bool(value.isfinite().all() and (value > 0).all()), f"{name} is {value.tolist()[:3]}")
    rise = float((noise.log() - signal.log()).diff().min())
    require(rise > 0, f"noise / signal falls by {-rise:.3g} of itself")


def knows_where_it_ends(schedule: Schedule, case: Case) -> None:
    """`prior_std` is the noise of the largest level, or what a process tends to at its last time."""
    process, std = _fitted(schedule), _fitted(schedule).prior_std()
    if schedule.conditioning == "sigma":
        largest = float(process.levels()[0])
        require(abs(std - largest) <= 1e-9 * largest, f"prior_std is {std:.6g}, the largest level {largest:.6g}")
        return
    signal, noise = (float(value[-1]) for value in process.at(_times(schedule)))
    # What is left of the signal may be missing from the noise, and in some processes twice of it.
    require(abs(std**2 - noise**2) <= 3 * signal**2 + 1e-9, f"prior_std is {std:.6g}, and noise ends at {noise:.6g}")


def takes_from_data_what_it_says(schedule: Schedule, case: Case) -> None:
    """Only a schedule that says `needs_data` is changed by data, which are not written to; then it needs none."""
    x = data((2,))
    with unmoved(x):
        fitted = schedule.fitted(x)
    require(not fitted.needs_data, "it needs data after it has had some")
    require(schedule.needs_data or fitted == schedule, "it takes something from data, and does not say so")


def is_deterministic(schedule: Schedule, case: Case) -> None:
    """Levels, or signal and noise, are the same each time, and no global randomness plays a part."""

    def look() -> Tensor:
        process = _fitted(schedule)
        return process.levels() if schedule.conditioning == "sigma" else torch.stack(process.at(_times(schedule)))

    with no_global_randomness():
        one = look()
    require_same_bits(one, look(), "what two calls give")


LAWS: tuple[Law, ...] = (falls, grows, knows_where_it_ends, takes_from_data_what_it_says, is_deterministic)
