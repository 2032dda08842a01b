"""Classification accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.metrics.classified import classified
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("accuracy")
class Accuracy(Metric):
    """Classification accuracy: the share of held-out points whose most likely class is their label.

        accuracy = mean over test of [argmax_y p(y | x) = label]

    `accuracy_train` is that of the training points: the difference measures overfitting.

    Results:
        accuracy: share of held-out points whose most likely class is their label.
        accuracy_train: the same for training points; a large difference is overfitting.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Grathwohl et al., arXiv:1912.03263, section 5.1.

    Example: evaluate: [{use: accuracy, every: 500}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"data", "labels", "logits"})

    def results(self) -> tuple[str, ...]:
        return ("accuracy", "accuracy_train")

    def measure(self, view: View) -> dict[str, float]:
        test, train = (classified(view, split) for split in ("test", "train"))
        return {
            "accuracy": float((test.guess == test.label).float().mean()),
            "accuracy_train": float((train.guess == train.label).float().mean()),
        }
