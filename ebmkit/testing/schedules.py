"""The laws of noise schedules."""

from __future__ import annotations

from ebmkit.kinds import Schedule
from ebmkit.testing.case import Case
from ebmkit.testing.law import Law, require
from ebmkit.testing.untouched import no_global_randomness, require_same_bits


def falls(schedule: Schedule, case: Case) -> None:
    """The levels are one row of finite positive numbers, from the largest to the smallest."""
    levels = schedule.levels()
    require(levels.dim() == 1 and len(levels) > 0, f"the levels have shape {tuple(levels.shape)}")
    require(bool(levels.isfinite().all() and (levels > 0).all()), f"the levels are {levels.tolist()[:5]}")
    rise = float(levels.diff(append=levels[-1:]).max())  # that of the last level to itself is zero
    require(rise <= 0, f"a level is {rise:.3g} above the one before")


def is_deterministic(schedule: Schedule, case: Case) -> None:
    """The levels are the same each time, and no global randomness plays a part."""
    with no_global_randomness():
        one = schedule.levels()
    require_same_bits(one, schedule.levels(), "the levels of two calls")


LAWS: tuple[Law, ...] = (falls, is_deterministic)
