"""Errors for numbers that are not finite, with the most likely cause."""

from __future__ import annotations

from collections.abc import Sequence

from ebmkit.engine.parts import Parts
from ebmkit.engine.statistic import Statistic
from ebmkit.engine.telling.error_site import label_at
from ebmkit.engine.telling.likely_cause import likely_cause
from ebmkit.errors.running import Diverged
from ebmkit.language.plan import Plan


def explain(
    plan: Plan, parts: Parts, gradient_norms: Sequence[float], statistic: Statistic, value: float, step: int
) -> Diverged:
    """The error for a statistic of training that became `value` at `step`."""
    if statistic.cause:
        statistic = statistic.cause()
    # A statistic that is only checked is a sum over many numbers, whose value is of no interest.
    what = f"{statistic.name} " + (f"became {value}" if statistic.recorded else "is not finite")
    detail = f": {statistic.detail}" if statistic.detail else ""
    return diverged(plan, parts, statistic, f"{what} at step {step}{detail}", label=what, gradient_norms=gradient_norms)


def diverged(
    plan: Plan, parts: Parts, statistic: Statistic, words: str, *, label: str = "", gradient_norms: Sequence[float] = ()
) -> Diverged:
    """The error for a number, with the line of the parameter that should be changed."""
    cause = likely_cause(plan, parts, gradient_norms, statistic)
    # A default of a section that the spec does not have is not in any line.
    place = plan.place(cause.path) if cause.path and plan.tree.find(cause.path[:1]) else None
    return Diverged(
        f"{label_at(plan, statistic.path)}: {words}",
        plan.place(statistic.path),
        label=label,
        other=place,
        other_label=cause.label if place else "",
        help=cause.words,
    )
