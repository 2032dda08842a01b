"""Means and standard deviations of coordinates."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("moments")
class Moments(Metric):
    """Moments: mean and standard deviation of selected coordinates over model samples.

        mean(x0) = 1/n sum_k x_0^(k),    std(x0)^2 = 1/(n - 1) sum_k (x_0^(k) - mean(x0))^2

    The results are named after their coordinates, as in this formula.

    Results:
        mean: mean of the coordinate over samples.
        std: its standard deviation.

    Parameters:
        coordinates: indices of the coordinates, from 0, an image row by row.
        samples: model samples.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Gelman et al., "Bayesian data analysis", 3rd ed., 2013, section 10.5.

    Example: evaluate: [{use: moments, coordinates: [0]}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples"})

    coordinates: Annotated[tuple[Annotated[int, Ge(0)], ...], MinLen(1)] = (0,)
    samples: Annotated[int, Ge(2)] = 10_000

    def __post_init__(self) -> None:
        if len(set(self.coordinates)) < len(self.coordinates):
            raise ValueError("'coordinates' contains an index twice")

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        last, size = max(self.coordinates), prod(question.event)
        if last >= size:
            return f"measures coordinate {last}, but a state has {size}, from 0 on"
        if question.chains == 1 and question.samples == 1:  # long chains keep what the spec says, whatever is asked
            return "measures a standard deviation, which a single sample does not have: use more samples"
        return None

    def results(self) -> tuple[str, ...]:
        return tuple(f"{word}(x{k})" for k in self.coordinates for word in ("mean", "std"))

    def measure(self, view: View) -> dict[str, float]:
        states = view.samples(self.samples).flatten(1)
        x = torch.stack([states[:, k] for k in self.coordinates], 1).cpu().double()
        found: dict[str, float] = {}
        for k, mean, std in zip(self.coordinates, x.mean(0).tolist(), x.std(0).tolist(), strict=True):
            found |= {f"mean(x{k})": mean, f"std(x{k})": std}
        return found
