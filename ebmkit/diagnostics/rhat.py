"""Whether chains agree with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch
from ebmkit.diagnostics.coordinates import over_coordinates
from ebmkit.diagnostics.ranks import folded, normal_scores
from ebmkit.diagnostics.split import split

if TYPE_CHECKING:
    from torch import Tensor


def rhat(x: Tensor) -> Tensor:
    """The rank-normalised split R-hat of each coordinate, which is 1 for chains that have forgotten their starts.

        R-hat = sqrt(((N - 1) W + B) / (N W))    W the variance within half chains of N draws, B/N that of their means

    The larger of two: of the normal scores of the draws, for chains that differ in their place, and of the normal
    scores of their distances from the median, for chains that differ in their spread.

    NaN for a single chain, less than four draws, and a coordinate that never moves; infinite for one that never moves
    within chains and differs between them.

    Reference: Vehtari et al., "Rank-normalization, folding, and localization: an improved R-hat", Bayesian Anal. 16,
    2021, arXiv:1903.08008.
    """
    return over_coordinates(_rhat, x)


def _rhat(x: Tensor) -> Tensor:
    if x.shape[0] < 2:
        return x.new_full(x.shape[2:], torch.nan)
    x = split(x)
    # Distances from the median may be all alike, those of a fair coin for example: then they have nothing to say.
    return torch.fmax(_classic(normal_scores(x)), _classic(normal_scores(folded(x))))


def _classic(z: Tensor) -> Tensor:
    draws = z.shape[1]
    within = z.var(1).mean(0)
    between = draws * z.mean(1).var(0)
    return ((draws - 1 + between / within) / draws).sqrt()
