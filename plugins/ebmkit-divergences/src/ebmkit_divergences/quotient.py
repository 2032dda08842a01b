"""The difference quotient of the exponential, which many families of generators have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.api import torch

if TYPE_CHECKING:
    from torch import Tensor


def expm1_quotient(rate: float, x: Tensor) -> Tensor:
    """`(exp(rate x) - 1) / rate`, and its limit x at rate 0, without cancellation."""
    return torch.expm1(rate * x) / rate if rate else x
