"""The laws of metrics."""

from __future__ import annotations

import dataclasses
import math

from torch import nn

from ebmkit.contracts.kinds import Metric
from ebmkit.engine.run_view import RunView
from ebmkit.engine.shared_tensors import watched
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Law, require
from ebmkit.testing.untouched import no_global_randomness, unchanged, unmoved
from ebmkit.testing.view import small_plans, small_run

#: At most the number of data, and of chains in one block: the sizes of blocks depend on the device.
SAMPLES = 150
#: Parameters that set the cost of a metric, and small values of them.
SMALL = {"samples": SAMPLES, "temperatures": 20}


def _small(metric: Metric) -> Metric:
    """The same metric with few samples or temperatures, if their number is a parameter."""
    small = {field.name: SMALL[field.name] for field in dataclasses.fields(metric) if field.name in SMALL}
    return dataclasses.replace(metric, **small)


def _measured(metric: Metric, view: RunView) -> dict[str, float]:
    return _small(metric).measure(view)


def measures_what_it_names(metric: Metric, case: Case) -> None:
    """`measure` returns a finite float for each name in `results`, and for no other."""
    for plan in small_plans(metric, case):
        found, named = _measured(metric, small_run(metric, plan)), _small(metric).results_in(plan.question)
        require(tuple(found) == named, f"it measures {', '.join(found)}, but names {', '.join(named)}")
        for name, value in found.items():
            require(type(value) is float and math.isfinite(value), f"'{name}' is {value!r}, a {type(value).__name__}")


def is_deterministic(metric: Metric, case: Case) -> None:
    """The same run and generator give the same numbers, without using global randomness."""
    for plan in small_plans(metric, case):
        with no_global_randomness():
            one = _measured(metric, small_run(metric, plan))
        two = _measured(metric, small_run(metric, plan))
        require(one == two, f"two measurements of one run give {one} and {two}")


def leaves_the_run_alone(metric: Metric, case: Case) -> None:
    """Measuring changes no weight, buffer, mode or data point, and not the samples shared with other metrics."""
    for plan in small_plans(metric, case):
        view = small_run(metric, plan)
        parts = view.parts
        assert parts.train is not None
        assert parts.test is not None
        with unchanged(nn.ModuleList([parts.model, parts.starts])), unmoved(parts.train, parts.test):
            with watched(view) as shared:
                _measured(metric, view)
            modified = shared.modified()
            require(not modified, f"`{modified}` was modified in place")


def runs_on_the_device(metric: Metric, case: Case) -> None:
    """On another device the numbers equal those on the CPU; host synchronisation is allowed."""
    for plan in small_plans(metric, case):
        on_cpu = _measured(metric, small_run(metric, plan))
        with pretended_device() as gpu:
            view = small_run(metric, plan, gpu)
            with gpu.watched():
                there = _measured(metric, view)
        off = max(abs(there[name] - value) / (1 + abs(value)) for name, value in on_cpu.items())
        require(off <= 1e-3, f"its numbers differ from those on the CPU by {off:.3g}")


LAWS: tuple[Law, ...] = (measures_what_it_names, is_deterministic, leaves_the_run_alone, runs_on_the_device)
