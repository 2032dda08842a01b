"""Numbers in a precision that linear algebra needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


def precise(x: Tensor) -> Tensor:
    """x in float32 at least: torch has neither linear algebra nor distances in half precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
