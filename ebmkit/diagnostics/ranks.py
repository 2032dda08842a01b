"""Ranks and quantiles of draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


def normal_scores(x: Tensor) -> Tensor:
    """Rank-normalised draws: normal quantiles at the ranks of the draws, so that no moment of x need exist.

        z = Phi^-1((r - 3/8) / (S + 1/4)),    r the rank among the S draws of all chains, the mean rank for equal draws

    Input and output are `(chains, draws, b)`.

    Reference: Vehtari et al., arXiv:1903.08008.
    """
    ordered, order = x.flatten(0, 1).T.contiguous().sort()  # one row per coordinate
    size = ordered.shape[1]
    place = torch.arange(1, size + 1, device=x.device).expand_as(ordered)
    differs = ordered.diff() != 0
    first = torch.cat([place[:, :1], place[:, 1:].where(differs, 1)], dim=1).cummax(1).values
    last = torch.cat([place[:, :-1].where(differs, size), place[:, -1:]], dim=1).flip(1).cummin(1).values.flip(1)
    rank = torch.empty_like(ordered).scatter_(1, order, (first + last).to(x.dtype) / 2)
    z: Tensor = torch.special.ndtri((rank - 3 / 8) / (size + 1 / 4))
    return z.T.reshape(x.shape)


def folded(x: Tensor) -> Tensor:
    """Distances from the median of all draws, whose number is even: large in both tails.

    Reference: Vehtari et al., arXiv:1903.08008.
    """
    pooled = x.flatten(0, 1).sort(dim=0).values  # torch's median is not deterministic on every device
    return (x - (pooled[len(pooled) // 2 - 1] + pooled[len(pooled) // 2]) / 2).abs()


def quantiles(x: Tensor, *shares: float) -> list[Tensor]:
    """Quantiles of all draws for the given probabilities, by linear interpolation: each `(b,)`.

    Rounded like scipy's `mquantiles`, which arviz uses: where a quantile falls on a draw, the last bit decides whether
    that draw lies below it.
    """
    ordered = x.flatten(0, 1).sort(dim=0).values

    def at(place: float) -> Tensor:
        above, part = min(int(place), len(ordered) - 1), place % 1
        return (1 - part) * ordered[int(place) - 1] + part * ordered[above]

    return [at(len(ordered) * share + (1 - share)) for share in shares]
