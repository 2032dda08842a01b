"""Ratio matching of discrete states."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.objectives.conditional_odds import conditional_odds
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("ratio_matching")
class RatioMatching(Objective):
    """Ratio matching (Hyvarinen): score matching for discrete units, by ratios of neighbouring states.

        L = E_data[sum_i g(p(x) / p(x with unit i flipped))^2],    g(u) = 1 / (1 + u)
          = E_data[sum_i (1 - p(x_i | all other units))^2],    for two values
        L = E_data[sum_i 1/2 sum_k ([x_i = k] - p(x_i = k | all other units))^2],    for categories

    Z cancels in the ratios. The second form, Brier's score of the conditionals, equals the first one if there are two
    categories. In a family that contains the distribution of the data, its minimum is that distribution.
    A unit that is very improbable weighs at most 1, whereas `pseudo_likelihood` has no bound. Hidden units are summed
    over; a step costs as much as one of `pseudo_likelihood`.

    Reference: Hyvarinen, "Some extensions of score matching", Computational Statistics and Data Analysis 51, 2007;
    Gneiting and Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102, 2007 (Brier's score).

    Example: objective: ratio_matching
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "conditionals"})

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        odds, x = conditional_odds(model, batch), batch.flatten(1)
        if odds.dim() > x.dim():
            return _of_categories(odds, x)
        flipped = torch.sigmoid(-odds)
        return Loss(flipped.square().sum(1).mean(), {"flipped": flipped.detach().mean()})


def _of_categories(odds: Tensor, x: Tensor) -> Loss:
    """The loss for log odds `(B, d, K)` of the categories of units `x (B, d)`."""
    from ebmkit.chains.one_hot import one_hot

    p, hot = odds.softmax(2), one_hot(x, odds.shape[2])
    flipped = 1 - (hot * p).sum(2)
    return Loss((hot - p).square().sum((1, 2)).mean() / 2, {"flipped": flipped.detach().mean()})
