"""Memorisation of the training data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, Lt

from ebmkit.components.metrics.enough import too_few
from ebmkit.components.metrics.neighbours import neighbours
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.contracts.unmeasurable import Unmeasurable

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


@component("nearest_neighbours")
class NearestNeighbours(Metric):
    """Memorisation: distances of samples from their nearest training points, and the share of copies.

        neighbour_distance = median over samples x of d_1(x),    memorised = P(d_1(x) < ratio d_2(x))

    d_1 is the Euclidean distance to the nearest training point, d_2 to the next one at a larger distance, so duplicated
    training points do not hide a copy. The `_floor` of both is that of as many held-out points, which cannot have been
    memorised: for a smooth density `memorised_floor` is about ratio^d in d dimensions, so it is informative for images
    and hardly for points in the plane. A model that copies has a distance well below the floor, one that blurs or
    leaves the data has one above.

    Results:
        neighbour_distance: median distance of samples from the nearest training point.
        neighbour_distance_floor: the same for held-out points in place of samples, which are no copies.
        memorised: share of samples that are copies of training points.
        memorised_floor: the same for held-out points in place of samples, which are no copies.

    Parameters:
        samples: number of model samples and of held-out points; all of the latter if there are fewer.
        ratio: d_1 / d_2 below which a sample counts as a copy.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Yoon et al., "Diffusion probabilistic models generalize when they fail to memorize", ICML workshop on
    structured probabilistic inference, 2023 (the ratio of 1/3); Carlini et al., "Extracting training data from
    diffusion models", arXiv:2301.13188 (distances relative to those of further neighbours).

    Example: evaluate: [{use: nearest_neighbours, samples: 1000}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})

    samples: Annotated[int, Ge(1)] = 1_000
    ratio: Annotated[float, Gt(0), Lt(1)] = 1 / 3

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        return too_few(question, train=2)

    def results(self) -> tuple[str, ...]:
        return ("neighbour_distance", "neighbour_distance_floor", "memorised", "memorised_floor")

    def measure(self, view: View) -> dict[str, float]:
        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("nearest neighbours need a spec with data")
        x = view.samples(self.samples)
        # A random subset, because files are often sorted by class.
        order = torch.randperm(len(test), generator=view.rng, device=x.device)[: self.samples]
        distance, memorised = self._closeness(x, train)
        floor, memorised_floor = self._closeness(test[order.to(test.device)].to(x), train)
        return {
            "neighbour_distance": distance,
            "neighbour_distance_floor": floor,
            "memorised": memorised,
            "memorised_floor": memorised_floor,
        }

    def _closeness(self, points: Tensor, train: Tensor) -> tuple[float, float]:
        found = neighbours(points, train)
        if not bool(found.next_distance.isfinite().all()):
            raise Unmeasurable("all training points are at the same distance, so that none is nearer than the next")
        copies = found.distance < self.ratio * found.next_distance
        return float(found.distance.cpu().double().quantile(0.5)), float(copies.cpu().double().mean())
