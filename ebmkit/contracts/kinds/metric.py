"""The contract of a metric."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from annotated_types import Ge

from ebmkit.contracts.component import Component
from ebmkit.contracts.states import Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.question import Question
    from ebmkit.contracts.view import View


#: Requirements other than abilities of the model.
OF_THE_RUN = frozenset({"samples", "data", "chains", "labels", "truth", "training"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(Component, ABC):
    """A measurement of a run: one or more named numbers.

    With `every` it is also measured during training, otherwise only once, at the end.
    """

    component_kind: ClassVar[str] = "metric"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin"})
    #: Any of `samples` (draws model samples), `chains` (from few long chains), `data` (requires held-out points),
    #: `labels` (with labels), `truth` (with a known density), `training` (reads what training recorded), and abilities
    #: of the model.
    needs: ClassVar[frozenset[str]] = frozenset()
    #: Quantities that the chains drawing the samples must report (see `Sampler.traces`).
    traces: ClassVar[frozenset[str]] = frozenset()
    #: Minimum number of long chains and of states that each keeps, for a metric that needs them.
    least_chains: ClassVar[int] = 1
    least_draws: ClassVar[int] = 1

    every: Annotated[int, Ge(1)] | None = None

    def traits(self) -> MetricTraits:
        """Requirements of this metric. Override it if parameters decide, and to give the number of samples it needs."""
        return MetricTraits(
            self.spaces,
            self.needs,
            self.traces,
            self.least_chains,
            least_draws=self.least_draws,
        )

    def bounded(self, samples: int) -> Self:
        """This metric with at most this many model samples, the number in the spec, which calls it if no number is
        written for the metric itself. By default its parameter `samples` is reduced."""
        least = max(2, samples)  # one point has no spread
        if self.traits().samples <= least or "samples" not in {field.name for field in dataclasses.fields(self)}:
            return self
        return dataclasses.replace(self, **{"samples": least})

    @abstractmethod
    def results(self) -> tuple[str, ...]:
        """The names of the numbers that `measure` returns, for use in `expect:`."""

    def results_in(self, question: Question) -> tuple[str, ...]:
        """Those of `results` that `measure` returns in this experiment; all of them, unless some need more than others
        and are left out without it."""
        return self.results()

    @abstractmethod
    def measure(self, view: View) -> dict[str, float]:
        """The numbers. `view` provides samples, data, the energy and the random generator of this metric.

        Raises `Unmeasurable` if the numbers of the run give it no value.
        """
