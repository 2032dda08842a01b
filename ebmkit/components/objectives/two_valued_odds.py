"""The log odds of the values that units have, given all other units."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.abilities import Conditionals


def odds_of_present_values(model: nn.Module, batch: Tensor) -> Tensor:
    """`log p(x_i | rest) - log p(the other value of unit i | rest)`, `(B, d)`, differentiable in the weights."""
    from ebmkit.chains.energy import Energy

    x = batch.flatten(1)
    sites = torch.arange(x.shape[1], device=x.device)
    log_odds = cast("Conditionals", model).log_odds(batch, sites)
    middle = sum(Energy(model).unit_values) / 2
    return torch.where(x > middle, log_odds, -log_odds)
