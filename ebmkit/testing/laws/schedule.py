"""The laws of noise schedules."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from ebmkit.contracts.kinds import Schedule
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.oracles import require_slope
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


def ends_where_its_parameters_say(schedule: Schedule, case: Case) -> None:
    """A parameter `sigma_max` is the largest level, and `sigma_min` the smallest one; of a process, the noise over the
    signal at its last and its earliest time."""
    fitted = _fitted(schedule)
    values = {field.name: getattr(fitted, field.name) for field in dataclasses.fields(fitted)}  # type: ignore[arg-type]
    named = {name: value for name, value in values.items() if name in ("sigma_max", "sigma_min")}
    if not named:
        raise Inapplicable("it has neither a parameter 'sigma_max' nor 'sigma_min'")
    if schedule.conditioning == "sigma":
        levels = fitted.levels()
    else:
        signal, noise = fitted.at(_times(schedule).flip(0))
        levels = noise / signal
    ends = {"sigma_max": float(levels[0]), "sigma_min": float(levels[-1])}
    for name, value in named.items():
        close = abs(ends[name] - value) <= 1e-9 * value
        require(close, f"'{name}' is {value:.9g}, but the level at this end is {ends[name]:.9g}")


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


def has_the_slopes_of_differences(schedule: Schedule, case: Case) -> None:
    """The slopes of log signal and log noise in time, of which drift and diffusion are made, agree with differences."""
    process = _fitted(schedule)
    inside = _times(schedule)[5:-5:10]
    t = inside.clone().requires_grad_()
    for name, value in zip(("signal", "noise"), process.at(t), strict=True):
        if not value.requires_grad:
            second = process.at(inside + 1e-3 * inside[0])[("signal", "noise").index(name)]
            require(torch.equal(value, second), f"the {name} changes in time, but carries no graph of it")
            continue
        (slope,) = torch.autograd.grad(value.log().sum(), t, retain_graph=True)

        def total(name: str = name) -> Tensor:
            return process.at(inside)[("signal", "noise").index(name)].log().sum()

        require_slope(total, [inside], [slope], f"the slope of log {name}")


def leaves_the_times_alone(schedule: Schedule, case: Case) -> None:
    """The times that a process is evaluated at are not modified."""
    t = _times(schedule)
    with unmoved(t):
        _fitted(schedule).at(t)


def is_deterministic(schedule: Schedule, case: Case) -> None:
    """Levels, or signal and noise, are the same each time, without using global randomness."""

    def look() -> Tensor:
        process = _fitted(schedule)
        return process.levels() if schedule.conditioning == "sigma" else torch.stack(process.at(_times(schedule)))

    with no_global_randomness():
        one = look()
    require_same_bits(one, look(), "the results of two calls")


def runs_on_the_device(schedule: Schedule, case: Case) -> None:
    """Signal and noise of a process are on the device of the times, without host synchronisation."""
    t, process = _times(schedule).float(), _fitted(schedule)
    on_cpu = torch.stack(process.at(t))
    with pretended_device() as gpu:
        moved = t.to(gpu.device)
        with gpu.watched() as seen:
            found = process.at(moved)
        seen.require_no_host_syncs()
        for name, value in zip(("signal", "noise"), found, strict=True):
            require(value.device == gpu.device, f"{name} is on {value.device}")
        off = float((torch.stack(found).cpu() - on_cpu).abs().max())
    require(off <= 1e-5 * (1 + float(on_cpu.abs().max())), f"signal or noise differs from that on the CPU by {off:.3g}")


LAWS: tuple[Law, ...] = (
    falls,
    grows,
    ends_where_its_parameters_say,
    knows_where_it_ends,
    has_the_slopes_of_differences,
    takes_from_data_what_it_says,
    leaves_the_times_alone,
    is_deterministic,
    runs_on_the_device,
)
