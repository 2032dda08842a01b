"""The sliced Wasserstein distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.matched import matched
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import MetricTraits
from ebmkit.maths.centred import centred, precise

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


@component("sliced_wasserstein")
class SlicedWasserstein(Metric):
    """Sliced Wasserstein distance of samples from held-out data: 1-D Wasserstein-1 averaged over random directions.

        SW = E_v W1(v'x, v'y),    W1 = mean |sorted v'x - sorted v'y|,    v uniform on the sphere

    `sliced_wasserstein_floor` is that of as many training points: two samples of one distribution are not at zero.

    Results:
        sliced_wasserstein: distance of samples from held-out data; lower is better.
        sliced_wasserstein_floor: the same for training points in place of samples, which a good model reaches.

    Parameters:
        samples: model samples, and as many data points; limited by the smaller split.
        directions: number of random directions.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Rabin, Peyre, Delon and Bernot, "Wasserstein barycenter and its application to texture mixing", 2011.

    Example: evaluate: [{use: sliced_wasserstein, samples: 10000, directions: 256}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})

    samples: Annotated[int, Ge(1)] = 10_000
    directions: Annotated[int, Ge(1)] = 256

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("sliced_wasserstein", "sliced_wasserstein_floor")

    def measure(self, view: View) -> dict[str, float]:
        points = matched(view, self.samples)
        like = points.samples
        v = torch.empty(self.directions, like.shape[1], device=like.device, dtype=like.dtype)
        v = precise(v.normal_(generator=view.rng))
        v = v / v.norm(dim=1, keepdim=True)
        test, x, train = centred(points.test, points.samples, points.train)
        held_out = _slices(v, test)
        return {
            "sliced_wasserstein": float((_slices(v, x) - held_out).abs().mean()),
            "sliced_wasserstein_floor": float((_slices(v, train) - held_out).abs().mean()),
        }


def _slices(v: Tensor, x: Tensor) -> Tensor:
    """Sorted projections `(directions, n)`."""
    return (v @ x.T).sort(dim=1).values
