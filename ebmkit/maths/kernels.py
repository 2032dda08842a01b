"""Mixtures of many isotropic Gaussians of equal width."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Tensor

from ebmkit.maths.precision import precise

#: Maximum number of distances in memory.
PAIRS = 1 << 22


def log_kernel_mean(x: Tensor, centres: Tensor) -> Tensor:
    """`log 1/M sum_m N(x; c_m, I)` at points `(B, d)`, for centres `(M, d)`: `(B,)`.

    Distances are squared differences, not differences of products, which would be rounded far from the origin.
    """
    rows = max(1, PAIRS // len(centres))
    logs = [(-_squares(block, centres) / 2).logsumexp(1) for block in torch.split(x, rows)]
    return torch.cat(logs) - log(len(centres)) - x.shape[1] / 2 * log(2 * pi)


def _squares(x: Tensor, centres: Tensor) -> Tensor:
    distances = torch.cdist(precise(x), precise(centres), compute_mode="donot_use_mm_for_euclid_dist")
    return distances.square().to(x.dtype)
