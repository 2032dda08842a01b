"""Evaluation during and after training: when metrics and samples are due, and their random streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import Tensor

from ebmkit.contracts.judgement import Judges
from ebmkit.contracts.kinds import Metric
from ebmkit.engine.failure import SAMPLES, Failure, Measured
from ebmkit.engine.previews import kept_at, plan_previews
from ebmkit.engine.run_view import RunView
from ebmkit.engine.shared_tensors import watched
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.errors.base import EbmkitError, Mistakes, first_of
from ebmkit.errors.running import ComponentFailed, Diverged
from ebmkit.storage.export import write_samples


class Evaluation:
    """Carries out `evaluate:` and `samples_every:`. `warn` receives what went wrong without stopping the run, and
    `kept` the samples that were kept at a step."""

    def __init__(
        self,
        view: RunView,
        warn: Callable[[str], None] = lambda line: None,
        kept: Callable[[Tensor], None] = lambda x: None,
    ) -> None:
        self.view, self.warn, self.kept = view, warn, kept
        self.metrics = view.plan.spec.evaluate
        self._last = view.plan.spec.steps
        train = view.data("train")
        self.previews = plan_previews(view.plan, 0 if train is None else len(train))
        self._periods = {metric.every for metric in self.metrics if metric.every is not None}

    def is_due(self, step: int) -> bool:
        """Whether anything is due at this step of training. After the last step, everything is evaluated once."""
        due = step in self.previews.steps or any(step % every == 0 for every in self._periods)
        return due and step != self._last

    def look(self, step: int) -> dict[str, float]:
        """Measure the metrics that are due, and keep samples if those are. The first failure of a metric is raised."""
        due = [metric for metric in self.metrics if metric.every and step % metric.every == 0]
        few = self.previews.samples if step in self.previews.steps else 0
        results, failed = self.measure(due, at_least=few)
        if self.view.no_samples and not self.samples_of(due):  # training needs no previews
            self.warn(f"step {step}: the samples for the report could not be drawn: {self.view.no_samples.message}")
            self.view.no_samples, failed, few = None, [], 0
        for failure in failed:
            raise failure.error
        if few and self.view.folder:
            samples = self.view.samples(few)
            write_samples(kept_at(self.view.folder, step), samples, headings=self.view.names.headings)
            self.kept(samples)
        return results

    def measure(self, metrics: Sequence[Metric], at_least: int = 0) -> Measured:
        """Draw the samples that all `metrics` share, `at_least` this many; then measure and check.

        What fails is reported in the outcome, and the rest is measured. Without samples, metrics that need none are.
        """
        view = self.view
        results: dict[str, float] = {}
        failed: list[Failure] = []
        view.judgement = None  # that of an earlier evaluation
        if view.can_sample and (most := self.samples_of(metrics, at_least)):
            try:
                view.draw(most)
            except EbmkitError as error:
                view.refuse_samples(error)
                failed.append(Failure(SAMPLES, (), error))
        for metric in metrics:
            if view.no_samples and isinstance(metric, Judges):
                continue  # there is nothing to judge, which is reported above
            path = ("evaluate", self._position(metric))
            with watched(view) as shared:
                try:
                    results |= self._measure(metric)
                except (EbmkitError, Mistakes) as error:
                    failed.append(Failure(label_at(view.plan, path), self._announced(metric), first_of(error)))
            if modified := shared.modified():  # the run ends: other metrics and the report would use it
                who = f"'measure' of {label_at(view.plan, path)}"
                raise ComponentFailed(f"{who} modified {modified} in place: work on a copy", view.plan.place(path))
        view.results = results
        return Measured(results, failed)

    @staticmethod
    def samples_of(metrics: Sequence[Metric], at_least: int = 0) -> int:
        """The number of samples that all `metrics` can share."""
        return max([at_least, *(metric.traits().samples for metric in metrics)])

    def _measure(self, metric: Metric) -> dict[str, float]:
        plan, view = self.view.plan, self.view
        index = self._position(metric)
        twins = sum(other.component_name == metric.component_name for other in self.metrics[:index])
        who = label_at(plan, ("evaluate", index))
        # Named after the metric, not its position: other metrics and earlier evaluations do not change its numbers.
        path = f"evaluate/{metric.component_name}/{twins}/{view.step}"
        most, when = max(plan.spec.samples, metric.traits().samples), view.moment
        site = ErrorSite(plan, ("evaluate", index), lambda: when)
        view.on_warning = lambda doubt: self.warn(f"{who}{when}: {doubt}")
        with site, view.drawing_from(path), view.at_most(most):
            values = {name: float(value) for name, value in self._numbers(metric).items()}
            announced = metric.results_in(plan.question)
            if set(values) != set(announced):
                raise ValueError(f"it measured {', '.join(values)}, but announces {', '.join(announced)}")
        for name, value in values.items():
            if not math.isfinite(value):
                raise Diverged(f"{who}: {name} is {value}{when}", plan.place(("evaluate", index)))
        return values

    def _numbers(self, metric: Metric) -> dict[str, float]:
        """What a metric measures; the view keeps the judgement of one that judges."""
        if not isinstance(metric, Judges):
            return metric.measure(self.view)
        self.view.judgement = metric.judge(self.view)
        return metric.numbers(self.view.judgement)

    def _position(self, metric: Metric) -> int:
        return next(position for position, other in enumerate(self.metrics) if other is metric)

    def _announced(self, metric: Metric) -> tuple[str, ...]:
        """The names of the values of a metric that failed; none if what failed is to say them."""
        try:
            return tuple(metric.results_in(self.view.plan.question))
        except Exception:
            return ()
