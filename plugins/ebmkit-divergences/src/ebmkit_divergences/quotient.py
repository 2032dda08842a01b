"""The difference quotient of the exponential, which many families of generators have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.api import torch

if TYPE_CHECKING:
    from torch import Tensor


def expm1_quotient(rate: float, x: Tensor) -> Tensor:
    """`(exp(rate x) - 1) / rate`, and its limit x at rate 0, without cancellation.

    The slope of `expm1` is computed from its value, which is rounded to -1 where the exponential is small: zero in
    place of a small number. That of `exp` is exact.
    """
    if not rate:
        return x
    y = rate * x
    return torch.where(y > -0.5, torch.expm1(y), y.exp() - 1) / rate
