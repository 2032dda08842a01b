"""The norm of the energy gradient along chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.trace import mean, trace
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("gradient_magnitude")
class GradientMagnitude(Metric):
    """Gradient magnitude v: the mean norm of the energy gradient along chains; its growth indicates divergence.

        v = E[1/K sum_{l < K} |dE/dx(x_l)|],    x_0, ..., x_{K-1} at the starts of the K steps of a chain

    `gradient_magnitude_first` and `gradient_magnitude_last` are the means at the first and the last of these points.
    The chains are those of the spec's `sampler:`; without one they continue the objective's chains, and v is that of
    training.

    Results:
        gradient_magnitude: v, the norm of dE/dx averaged over the steps of the chains; its growth indicates divergence.
        gradient_magnitude_first: v at the first step of the chains.
        gradient_magnitude_last: v at the last step of the chains.

    Parameters:
        samples: number of chains to average over; if other metrics draw more, all of them are used.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Xu, "Self-adapting noise-contrastive estimation for energy-based models", thesis, Tsinghua 2022, section
    3.2.2 and figures 3.2 and 3.3.

    Example: evaluate: [{use: gradient_magnitude, every: 10, samples: 128}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples"})
    traces: ClassVar[frozenset[str]] = frozenset({"gradient_norm"})

    samples: Annotated[int, Ge(1)] = 1_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("gradient_magnitude", "gradient_magnitude_first", "gradient_magnitude_last")

    def measure(self, view: View) -> dict[str, float]:
        norms = trace(view, "gradient_norm", self.samples)
        return {
            "gradient_magnitude": mean(norms),
            "gradient_magnitude_first": float(norms[0]),
            "gradient_magnitude_last": float(norms[-1]),
        }
