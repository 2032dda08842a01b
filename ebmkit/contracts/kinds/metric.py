"""The contract of a metric."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.contracts.component import Component
from ebmkit.contracts.states import Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


#: Needs that are no ability of the model.
OF_THE_RUN = frozenset({"samples", "data", "chains", "labels", "truth"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(Component, ABC):
    """A measurement of the run as it stands: some numbers, each under its own name.

    `every` measures during training too; without it a metric is measured once, at the end.
    """

    component_kind: ClassVar[str] = "metric"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin"})
    #: Of `samples` (model samples are drawn), `chains` (by few long chains), `data` (there must be held-out points),
    #: `labels` (which have labels), `truth` (whose density is known), and abilities of the model.
    needs: ClassVar[frozenset[str]] = frozenset()
    #: What the chains that draw the samples must report (see `Sampler.traces`).
    traces: ClassVar[frozenset[str]] = frozenset()
    #: How many long chains there have to be, for a metric that needs them.
    least_chains: ClassVar[int] = 1

    every: Annotated[int, Ge(1)] | None = None

    def traits(self) -> MetricTraits:
        """What this metric needs. Override it where parameters decide, and to say how many samples are drawn for it."""
        return MetricTraits(self.spaces, self.needs, self.traces, self.least_chains)

    @abstractmethod
    def results(self) -> tuple[str, ...]:
        """The names that `measure` returns, for `expect:` to refer to."""

    @abstractmethod
    def measure(self, view: View) -> dict[str, float]:
        """The numbers. `view` gives samples, data, the energy and this metric's own generator."""
