"""Units of two values: draws, sums over both values, and means, as functions of what multiplies a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch
from ebmkit.maths.coins import coins

if TYPE_CHECKING:
    from torch import Generator, Tensor


def draw_values(log_odds: Tensor, values: tuple[float, float], rng: Generator) -> Tensor:
    """Draws of units with these log odds of the higher value."""
    low, high = values
    is_high = coins(torch.sigmoid(log_odds), rng)
    return is_high if values == (0, 1) else low + (high - low) * is_high


def log_odds(field: Tensor, values: tuple[float, float], temperature: Tensor | float) -> Tensor:
    """The log odds of the higher value of units with probabilities proportional to `exp(field u / temperature)`."""
    scale = (values[1] - values[0]) / temperature
    return field if isinstance(scale, float) and scale == 1 else scale * field


def log_sum(field: Tensor, values: tuple[float, float]) -> Tensor:
    """`log sum_u exp(field u)` over both values u of a unit."""
    low, high = values
    # Beyond the threshold softplus is linear: torch's default of 20 is an error of 2e-9.
    return low * field + torch.nn.functional.softplus((high - low) * field, threshold=37)


def mean(field: Tensor, values: tuple[float, float]) -> Tensor:
    """The mean of a unit with probabilities proportional to `exp(field u)`: the derivative of `log_sum`."""
    low, high = values
    return low + (high - low) * torch.sigmoid((high - low) * field)


def variance(mean: Tensor, values: tuple[float, float]) -> Tensor:
    """The variance of a unit of this mean: the derivative of `mean`."""
    low, high = values
    return (mean - low) * (high - mean)
