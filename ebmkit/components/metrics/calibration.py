"""The calibration of a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.classified import classified
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("calibration")
class Calibration(Metric):
    """Expected calibration error: mean absolute difference of confidence and accuracy over bins.

        ece = sum_b (n_b / n) |accuracy in b - mean confidence in b|,    confidence = max_y p(y | x)

    Zero if, among held-out points classified with probability p, a share p is correct. `confidence` is the mean over
    all points: above the accuracy, the classifier is overconfident.

    Results:
        ece: mean difference of confidence and accuracy; 0 is best.
        confidence: mean probability of the predicted class; above the accuracy, it is overconfident.

    Parameters:
        bins: number of bins between 0 and 1.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Guo et al., "On calibration of modern neural networks", arXiv:1706.04599.

    Example: evaluate: [{use: calibration, bins: 15}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"data", "labels", "logits"})

    bins: Annotated[int, Ge(1)] = 15

    def results(self) -> tuple[str, ...]:
        return ("ece", "confidence")

    def measure(self, view: View) -> dict[str, float]:
        test = classified(view, "test")
        confidence = test.confidence.cpu().double()
        surplus = (test.guess == test.label).cpu().double() - confidence
        which = (confidence * self.bins).long().clamp(max=self.bins - 1)  # a confidence of 1 belongs to the last bin
        summed = confidence.new_zeros(self.bins).index_add(0, which, surplus)
        return {"ece": float(summed.abs().sum()) / len(surplus), "confidence": float(confidence.mean())}
