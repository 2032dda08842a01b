"""Energies of data against those of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.matched import matched
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("energy_gap")
class EnergyGap(Metric):
    """How much higher the model's energy is at held-out data than at its own samples; zero for a perfect model.

        energy_gap     = E_test[E(x)] - E_samples[E(x)]
        energy_overfit = E_test[E(x)] - E_train[E(x)]

    A gap above zero means that chains find lower energies than the data have: the model has put mass elsewhere. Below
    zero the chains have not come down to where the data are, or the sampler is too hot. An `energy_overfit` that grows
    during training means that the model learns its training points by heart. The three means are reported as
    `energy_test`, `energy_samples` and `energy_train`.

    Parameters:
        samples: model samples, and as many data points; all of the smaller split where there are fewer.
        every: measure after each so many training steps, not only at the end.

    Reference: Nijkamp et al., "On the anatomy of MCMC-based maximum likelihood learning", arXiv:1903.12370.

    Example: evaluate: [{use: energy_gap, every: 500}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data", "energy"})

    samples: Annotated[int, Ge(1)] = 10_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("energy_gap", "energy_overfit", "energy_test", "energy_samples", "energy_train")

    def measure(self, view: View) -> dict[str, float]:
        samples, test, train = (
            float(view.energy(points.view(-1, *view.event)).cpu().double().mean())
            for points in matched(view, self.samples)
        )
        return {
            "energy_gap": test - samples,
            "energy_overfit": test - train,
            "energy_test": test,
            "energy_samples": samples,
            "energy_train": train,
        }
