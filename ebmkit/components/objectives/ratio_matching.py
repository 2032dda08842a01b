"""Ratio matching of discrete states."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.objectives.two_valued_odds import odds_of_present_values
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("ratio_matching")
class RatioMatching(Objective):
    """Ratio matching (Hyvarinen): score matching for units of two values, by ratios of neighbouring states.

        L = E_data[sum_i g(p(x) / p(x with unit i flipped))^2],    g(u) = 1 / (1 + u)
          = E_data[sum_i (1 - p(x_i | all other units))^2]

    Z cancels in the ratios. In a family that contains the distribution of the data, its minimum is that distribution.
    A unit that is very improbable weighs at most 1, whereas `pseudo_likelihood` has no bound. Hidden units are summed
    over; a step costs as much as one of `pseudo_likelihood`.

    Reference: Hyvarinen, "Some extensions of score matching", Computational Statistics and Data Analysis 51, 2007.

    Example: objective: ratio_matching
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "conditionals"})

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        flipped = torch.sigmoid(-odds_of_present_values(model, batch))
        return Loss(flipped.square().sum(1).mean(), {"flipped": flipped.detach().mean()})
