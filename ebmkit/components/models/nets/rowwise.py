"""Functions of many rows, computed in blocks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

#: Numbers in the intermediate results of a block.
BLOCK = 1 << 22


def rowwise(of: Callable[[Tensor], Tensor], rows: Tensor, width: int) -> Tensor:
    """`of` rows, with intermediate results of `width` numbers a row, which are not kept for the gradient."""
    blocks = torch.split(rows, max(1, BLOCK // width))
    if len(blocks) == 1 or not torch.is_grad_enabled():
        return torch.cat([of(block) for block in blocks])
    return torch.cat([checkpoint(of, block, use_reentrant=False) for block in blocks])
