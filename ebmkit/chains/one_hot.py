"""One-hot vectors of categorical states."""

from __future__ import annotations

import torch
from torch import Tensor


def one_hot(x: Tensor, categories: int) -> Tensor:
    """`(..., K)` with a one at the category of each unit, in the dtype of `x (...)`."""
    values = torch.arange(categories, device=x.device, dtype=x.dtype)
    hot = (x.unsqueeze(-1) == values).to(x.dtype)
    return hot + (x - x).unsqueeze(-1)  # NaN where x is: a comparison would hide it
