"""The total variation distance of samples from a discrete model."""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.enumerated import probabilities, too_many, unit_values
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.maths.enumeration import numbers

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


@component("total_variation")
class TotalVariation(Metric):
    """Total variation distance between samples and the exact distribution of a discrete model.

        total_variation = 1/2 sum_x |n(x) / n - p(x)|,    n(x) of n samples are x

    p is exact, by enumeration of at most 65,536 states. `total_variation_floor` is the expected value for n
    independent draws from p, which is not zero:

        E|n(x) - n p| = 2 k C(n, k) p^k (1 - p)^(n - k + 1),    k = floor(n p) + 1

    Results:
        total_variation: distance of the frequencies of states from their exact probabilities.
        total_variation_floor: its expectation for as many independent draws, which good chains reach.

    Parameters:
        samples: model samples.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Diaconis and Zabell, "Closed form summation for classical distributions: variations on a theme of de
    Moivre", Statistical Science 6, 1991.

    Example: evaluate: [{use: total_variation, samples: 10000}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "energy"})

    samples: Annotated[int, Ge(1)] = 10_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        return too_many(question.event, question.model)

    def results(self) -> tuple[str, ...]:
        return ("total_variation", "total_variation_floor")

    def measure(self, view: View) -> dict[str, float]:
        p = probabilities(view)
        x = numbers(view.samples(self.samples), unit_values(view)).cpu()
        shares = torch.bincount(x, minlength=len(p)).to(p.dtype) / len(x)
        return {
            "total_variation": float((shares - p).abs().sum() / 2),
            "total_variation_floor": float(_deviation(p, len(x)).sum() / (2 * len(x))),
        }


def _deviation(p: Tensor, n: int) -> Tensor:
    """`E|X - n p|` of binomial counts X."""
    k = (n * p).floor() + 1
    log_choose = lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
    log_powers: Tensor = torch.xlogy(k, p) + torch.special.xlog1py(n - k + 1, -p)
    return 2 * k * (log_choose + log_powers).exp()
