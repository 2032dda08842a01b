"""The acceptance rate of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.trace import mean, trace
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("acceptance")
class Acceptance(Metric):
    """Acceptance rate: the mean acceptance probability of the chains that draw samples, over all steps.

        acceptance = E[1/K sum_{l < K} min(1, a_l)]

    High-dimensional targets are explored best at 0.234 by `metropolis`; a much higher rate means that steps are too
    small, a much lower one that they are too large. Samplers without rejection have no acceptance rate.

    Results:
        acceptance: mean probability that the chains accept a proposal.

    Parameters:
        samples: number of chains to average over; if other metrics draw more, all of them are used.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Roberts, Gelman and Gilks, "Weak convergence and optimal scaling of random walk Metropolis algorithms",
    Ann. Appl. Probab. 7, 1997.

    Example: evaluate: [{use: acceptance, samples: 1000}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples"})
    traces: ClassVar[frozenset[str]] = frozenset({"acceptance"})

    samples: Annotated[int, Ge(1)] = 1_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("acceptance",)

    def measure(self, view: View) -> dict[str, float]:
        shares = trace(view, "acceptance", self.samples)
        return {"acceptance": mean(shares)}
