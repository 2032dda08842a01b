"""The distribution of distances between particles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Ge, Metric, MetricTraits, Question, Space, component, torch
from ebmkit_energies_graph.particles import particle_count, sorted_distances

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.api import View


@component("pair_distances")
class PairDistances(Metric):
    """Pair distances: Wasserstein-1 distance of those in samples from those in held-out points.

        W1 = mean |sorted r(samples) - sorted r(held-out)|,    r: |x_i - x_j| of all pairs i < j of all states

    The distribution of r is the radial distribution function times the volume of shells, the usual first look at a
    liquid. `pair_distances_floor` is that of as many training points: two samples of one distribution are not at zero.
    The last axis of a state contains the coordinates of a particle.

    Results:
        pair_distances: distance of the distributions, in the units of the data; lower is better.
        pair_distances_floor: the same for training points in place of samples, which a good model reaches.

    Parameters:
        samples: model samples, and as many data points; limited by the smaller split.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Allen and Tildesley, "Computer simulation of liquids", 2nd ed., 2017, section 2.6.

    Example: evaluate: [graph.pair_distances]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})

    samples: Annotated[int, Ge(1)] = 5_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        if particle_count(question.event) > 1:
            return None
        return f"needs pairs of particles, but a state of shape {question.event} is a single one"

    def results(self) -> tuple[str, ...]:
        return ("pair_distances", "pair_distances_floor")

    def measure(self, view: View) -> dict[str, float]:
        test, train = view.data("test"), view.data("train")
        assert test is not None  # a spec without data is refused
        assert train is not None
        x = view.samples(min(self.samples, len(test), len(train)))
        held_out = sorted_distances(_some(test, len(x), view))
        return {
            "pair_distances": float((sorted_distances(x) - held_out).abs().mean()),
            "pair_distances_floor": float((sorted_distances(_some(train, len(x), view)) - held_out).abs().mean()),
        }


def _some(points: Tensor, n: int, view: View) -> Tensor:
    """n random points: files are often sorted."""
    return points[torch.randperm(len(points), generator=view.rng, device=view.device)[:n].to(points.device)]
