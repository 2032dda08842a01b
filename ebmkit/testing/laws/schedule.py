"""The laws of noise schedules."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.contracts.kinds import Schedule
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.partner import data
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unmoved

#: Times at which a process is evaluated.
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
    require(rise < 0, f"a level is {rise:.3g} above the previous one")


def grows(schedule: Schedule, case: Case) -> None:
    """Signal and noise of a process are finite and positive from the earliest time to the last, with the shape and
    dtype of the times, and their ratio increases."""
    t, process = _times(schedule), _fitted(schedule)
    require(0 <= schedule.earliest < schedule.horizon, f"times run from {schedule.earliest} to {schedule.horizon}")
    signal, noise = process.at(t)
    for name, value in {"signal": signal, "noise": noise}.items():
        require(value.shape == t.shape and value.dtype == t.dtype, f"{name} is {value.dtype}, {tuple(value.shape)}")
        require(bool(value.isfinite().all() and (value > 0).all()), f"{name} is {value.tolist()[:3]}")
    rise = float((noise.log() - signal.log()).diff().min())
    require(rise > 0, f"noise / signal decreases by a share of {-rise:.3g}")


def knows_where_it_ends(schedule: Schedule, case: Case) -> None:
    """`prior_std` is the noise of the largest level, or the limit of a process at its final time."""
    process, std = _fitted(schedule), _fitted(schedule).prior_std()
    if schedule.conditioning == "sigma":
        largest = float(process.levels()[0])
        require(abs(std - largest) <= 1e-9 * largest, f"prior_std is {std:.6g}, the largest level {largest:.6g}")
        return
    signal, noise = (float(value[-1]) for value in process.at(_times(schedule)))
    # The remaining signal may be missing from the noise, in some processes twice.
    require(abs(std**2 - noise**2) <= 3 * signal**2 + 1e-9, f"prior_std is {std:.6g}, but the noise is {noise:.6g}")


def takes_from_data_what_it_says(schedule: Schedule, case: Case) -> None:
    """Only a schedule with `needs_data` is changed by data, which are not modified; afterwards it needs none."""
    x = data((2,))
    with unmoved(x):
        fitted = schedule.fitted(x)
    require(not fitted.needs_data, "it still needs data after it was fitted")
    require(schedule.needs_data or fitted == schedule, "it is changed by data, but `needs_data` is false")


def is_deterministic(schedule: Schedule, case: Case) -> None:
    """Levels, or signal and noise, are the same each time, without using global randomness."""

    def look() -> Tensor:
        process = _fitted(schedule)
        return process.levels() if schedule.conditioning == "sigma" else torch.stack(process.at(_times(schedule)))

    with no_global_randomness():
        one = look()
    require_same_bits(one, look(), "the results of two calls")


LAWS: tuple[Law, ...] = (falls, grows, knows_where_it_ends, takes_from_data_what_it_says, is_deterministic)
