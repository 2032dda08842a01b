"""Coins: draws of 0 and 1 with given probabilities."""

from __future__ import annotations

from functools import cache
from math import log2
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Random bits that each number has for itself.
OWN = 16


def coins(p: Tensor, rng: Generator) -> Tensor:
    """1 with probability p, else 0, in the shape and dtype of `p (..., K)`; where p is not a number, so is the coin."""
    p = p.detach()
    return Uniform(p).draw(rng).lt_(p).add_(p - p)  # a comparison would hide it


class Uniform:
    """Uniform numbers in [0, 1) of the shape of `like (..., K)`, at less than half of the cost of random floats.

        u_k = (r_k + v) / 2^16,    r_k in {0, ..., 2^16 - 1} for each number,  v in [0, 1) for each row of K

    Every number is uniform, with as many digits as its dtype has near 1. Numbers of different rows are independent; two
    of one row share what follows their first 16 bits, so that events of probabilities p and q in them have a covariance
    of at most 2^-34, which is less than the rounding error of p and q in single precision.
    """

    def __init__(self, like: Tensor) -> None:
        count, device = like.numel(), like.device
        self._words = torch.empty((count + 3) // 4, dtype=torch.int64, device=device)
        self._own = self._words.view(torch.int16)[:count].view(like.shape)
        self._numbers = torch.empty(like.shape, dtype=like.dtype, device=device)
        self._shared = torch.empty(*like.shape[:-1], 1, dtype=like.dtype, device=device)
        self._digits = _digits(like.dtype)

    def draw(self, rng: Generator) -> Tensor:
        """New numbers, which the next call overwrites."""
        self._words.random_(-(2**63), None, generator=rng)
        # As many digits as are left: with more of them a sum could be rounded to 1.
        self._shared.random_(0, 2 ** (self._digits - OWN), generator=rng)
        shared = self._shared.mul_(2.0**-self._digits).add_(0.5)  # one half because `own` is signed
        self._numbers.copy_(self._own)  # an addition of two types would take four times as long
        return torch.add(shared, self._numbers, alpha=2.0**-OWN, out=self._numbers)


@cache
def _digits(dtype: torch.dtype) -> int:
    """Binary digits of a number below 1."""
    return 1 - round(log2(torch.finfo(dtype).eps))
