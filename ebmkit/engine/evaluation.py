"""Metrics: when they are due, and with which samples and random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ebmkit.engine.blame import Blame
from ebmkit.engine.view import View
from ebmkit.errors.running import Diverged
from ebmkit.kinds import Metric


class Evaluation:
    """The metrics under `evaluate:`."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.metrics = view.plan.spec.evaluate
        self._periodic = [metric for metric in self.metrics if metric.every is not None]
        train = view.plan.spec.train
        self._last = train.steps if train else 0

    def due(self, step: int) -> list[Metric]:
        """The metrics to measure during training; after the last step all are, once."""
        if not self._periodic or step == self._last:
            return []
        return [metric for metric in self._periodic if metric.every and step % metric.every == 0]

    def measure(self, metrics: Sequence[Metric], at_least: int = 0) -> dict[str, float]:
        """Draw the samples that all of `metrics` share, `at_least` so many, measure, check and record."""
        view = self.view
        view.history.flush()
        if view.can_sample and (most := self.samples_of(metrics, at_least)):
            view.samples(most)
        results: dict[str, float] = {}
        for metric in metrics:
            results |= self._measure(metric)
        view.results = results
        if results:
            view.history.record(view.step, results)
        return results

    @staticmethod
    def samples_of(metrics: Sequence[Metric], at_least: int = 0) -> int:
        """How many samples all of `metrics` can share."""
        return max([at_least, *(getattr(metric, "samples", 0) for metric in metrics if "samples" in metric.needs)])

    def _measure(self, metric: Metric) -> dict[str, float]:
        plan, view = self.view.plan, self.view
        index = next(i for i, other in enumerate(self.metrics) if other is metric)
        twins = sum(other.component_name == metric.component_name for other in self.metrics[:index])
        who = f"metric {metric.component_name!r}"
        # Named after the metric, not its position: metrics around it, and earlier evaluations, do not move its numbers.
        view.rng = view.streams.generator(f"evaluate/{metric.component_name}/{twins}/{view.step}")
        with Blame(plan, ("evaluate", index), who):
            values = {name: float(value) for name, value in metric.measure(view).items()}
        for name, value in values.items():
            if not math.isfinite(value):
                raise Diverged(
                    f"{who}: {name} is {value} after {view.step} training steps", plan.place(("evaluate", index))
                )
        return values
