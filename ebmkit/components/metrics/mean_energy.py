"""The mean energy of samples."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("mean_energy")
class MeanEnergy(Metric):
    """Mean energy of samples, the internal energy of statistical mechanics.

        mean_energy = E_samples[E(x)],    per coordinate divided by the number of coordinates of a state

    Results:
        mean_energy: mean energy of samples.
        mean_energy_per_coordinate: the same per coordinate; per spin in the Ising model.

    Parameters:
        samples: model samples.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Onsager, "Crystal statistics. I. A two-dimensional model with an order-disorder transition", Phys. Rev.
    65, 1944.

    Example: evaluate: [{use: mean_energy, samples: 1000}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "energy"})

    samples: Annotated[int, Ge(1)] = 10_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("mean_energy", "mean_energy_per_coordinate")

    def measure(self, view: View) -> dict[str, float]:
        mean = float(view.energy(view.samples(self.samples)).cpu().double().mean())
        return {"mean_energy": mean, "mean_energy_per_coordinate": mean / prod(view.event)}
