"""The log odds of discrete units given all others, and of the values that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ebmkit.contracts.lazy import torch
from ebmkit.maths.categories import log_probability

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.abilities import Conditionals


def conditional_odds(model: nn.Module, batch: Tensor) -> Tensor:
    """The log odds of all units given all others (see `Conditionals`), differentiable in the weights.

    Of units with two values `(B, d)`, those of the present value against the other one; of categorical units
    `(B, d, K)`, the log probabilities of all categories up to a constant.
    """
    from ebmkit.chains.energy import Energy

    x = batch.flatten(1)
    sites = torch.arange(x.shape[1], device=x.device)
    log_odds = cast("Conditionals", model).log_odds(batch, sites)
    if log_odds.dim() > x.dim():
        return log_odds
    middle = sum(Energy(model).unit_values) / 2
    return torch.where(x > middle, log_odds, -log_odds)


def log_conditionals(model: nn.Module, batch: Tensor) -> Tensor:
    """`log p(x_i | all other units)`, `(B, d)`, differentiable in the weights."""
    odds, x = conditional_odds(model, batch), batch.flatten(1)
    if odds.dim() > x.dim():
        return log_probability(odds, x)
    return torch.nn.functional.logsigmoid(odds)
