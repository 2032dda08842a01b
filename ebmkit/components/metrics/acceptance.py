"""How often chains accept what they propose."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.trace import trace
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("acceptance")
class Acceptance(Metric):
    """The probability with which chains that draw samples accept a proposal, averaged over all steps.

        acceptance = E[1/K sum_{l < K} min(1, a_l)]

    High-dimensional targets are best explored at 0.234 by `metropolis`, where much more means steps that are too small
    and much less means steps that are too large. Samplers that never refuse have no acceptance.

    Parameters:
        samples: chains to average over; where other metrics draw more, over all of them.
        every: measure after each so many training steps, not only at the end.

    Reference: Roberts, Gelman and Gilks, "Weak convergence and optimal scaling of random walk Metropolis algorithms",
    Ann. Appl. Probab. 7, 1997.

    Example: evaluate: [{use: acceptance, samples: 1000}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples"})
    traces: ClassVar[frozenset[str]] = frozenset({"acceptance"})

    samples: Annotated[int, Ge(1)] = 1_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("acceptance",)

    def measure(self, view: View) -> dict[str, float]:
        shares = trace(view, "acceptance", self.samples)
        return {"acceptance": fsum(shares) / len(shares)}
