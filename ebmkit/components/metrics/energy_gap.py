"""The difference of energies of data and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.matched import matched
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("energy_gap")
class EnergyGap(Metric):
    """Energy gap: mean energy of held-out data minus that of model samples; zero for a perfect model.

        energy_gap     = E_test[E(x)] - E_samples[E(x)]
        energy_overfit = E_test[E(x)] - E_train[E(x)]

    A gap above zero means that chains find lower energies than those of the data: the model has mass elsewhere. Below
    zero, the chains have not reached the region of the data, or the temperature of the sampler is too high. An
    `energy_overfit` that grows during training indicates overfitting. The three means are reported as `energy_test`,
    `energy_samples` and `energy_train`.

    Results:
        energy_gap: mean energy of held-out data minus that of samples; 0 for a perfect model.
        energy_overfit: mean energy of held-out data minus that of training data; grows with overfitting.
        energy_test: mean energy of held-out data.
        energy_samples: mean energy of samples.
        energy_train: mean energy of training data.

    Parameters:
        samples: model samples, and as many data points; limited by the smaller split.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Nijkamp et al., "On the anatomy of MCMC-based maximum likelihood learning", arXiv:1903.12370.

    Example: evaluate: [{use: energy_gap, every: 500}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
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
