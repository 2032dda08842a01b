"""Whether the loss has come to rest."""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt, Le

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("loss_curve")
class LossCurve(Metric):
    """Where the loss is in the last part of training so far, how much it fluctuates there, and whether it still moves.

        loss_level  = mean of the last part
        loss_spread = standard deviation of the last part
        loss_drift  = |mean of its second half - mean of its first half| / |loss_level|

    The numbers are those of the history: one a step in short runs, means over a few steps in long ones.

    Parameters:
        part: the share of the training that counts, from its end.
        every: measure after each so many training steps, not only at the end.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600,
    figure 1.

    Example: evaluate: [{use: loss_curve, part: 0.5}]
    """

    part: Annotated[float, Gt(0), Le(1)] = 0.5

    def results(self) -> tuple[str, ...]:
        return ("loss_level", "loss_spread", "loss_drift")

    def measure(self, view: View) -> dict[str, float]:
        losses = [value for _, value in view.series.get("loss", ())]
        if not losses:
            raise ValueError("the loss of a training is looked at, and there was none")
        last = losses[-max(1, round(self.part * len(losses))) :]
        level = _mean(last)
        spread = sqrt(_mean([(value - level) ** 2 for value in last]))
        middle = len(last) // 2
        moved = abs(_mean(last[middle:]) - _mean(last[:middle])) if middle else 0.0
        return {"loss_level": level, "loss_spread": spread, "loss_drift": moved / abs(level) if moved else 0.0}


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values)
