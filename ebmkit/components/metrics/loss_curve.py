"""The convergence of the loss."""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt, Le

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("loss_curve")
class LossCurve(Metric):
    """Loss convergence: level, spread and drift of the loss in the last part of training.

        loss_level  = mean of the last part
        loss_spread = standard deviation of the last part
        loss_drift  = |mean of its second half - mean of its first half| / |loss_level|

    The values are those of the history: one per step in short runs, means over a few steps in long ones.

    Results:
        loss_level: mean of the loss in the last part of training.
        loss_spread: standard deviation of the loss there.
        loss_drift: change between the halves of that part, as a fraction of the level.

    Parameters:
        part: the last share of the training that is used.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600,
    figure 1.

    Example: evaluate: [{use: loss_curve, part: 0.5}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"training"})

    part: Annotated[float, Gt(0), Le(1)] = 0.5

    def results(self) -> tuple[str, ...]:
        return ("loss_level", "loss_spread", "loss_drift")

    def measure(self, view: View) -> dict[str, float]:
        losses = [value for _, value in view.series.get("loss", ())]
        if not losses:
            raise ValueError("the loss curve needs a run with training")
        last = losses[-max(1, round(self.part * len(losses))) :]
        level = _mean(last)
        spread = sqrt(_mean([(value - level) ** 2 for value in last]))
        middle = len(last) // 2
        moved = abs(_mean(last[middle:]) - _mean(last[:middle])) if middle else 0.0
        return {"loss_level": level, "loss_spread": spread, "loss_drift": moved / abs(level) if moved else 0.0}


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values)
