"""R-hat: whether chains agree with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch
from ebmkit.diagnostics.coordinates import over_coordinates
from ebmkit.diagnostics.ranks import folded, normal_scores
from ebmkit.diagnostics.split import split

if TYPE_CHECKING:
    from torch import Tensor


def rhat(x: Tensor) -> Tensor:
    """The rank-normalised split R-hat of each coordinate, which tends to 1 as chains converge.

        R-hat = sqrt(((N - 1) W + B) / (N W))    W the variance within half chains of N draws, B/N that of their means

    The larger of two values: that of the normal scores of the draws, which detects chains that differ in location, and
    that of the normal scores of their distances from the median, which detects chains that differ in scale.

    NaN for a single chain, fewer than four draws, and a constant coordinate; infinite for a coordinate that is constant
    within chains but differs between them.

    Reference: Vehtari et al., "Rank-normalization, folding, and localization: an improved R-hat", Bayesian Anal. 16,
    2021, arXiv:1903.08008.
    """
    return over_coordinates(_rhat, x)


def _rhat(x: Tensor) -> Tensor:
    if x.shape[0] < 2:
        return x.new_full(x.shape[2:], torch.nan)
    x = split(x)
    # Distances from the median may all be equal, for example those of a fair coin; fmax then ignores the NaN.
    return torch.fmax(_classic(normal_scores(x)), _classic(normal_scores(folded(x))))


def _classic(z: Tensor) -> Tensor:
    draws = z.shape[1]
    within = z.var(1).mean(0)
    between = draws * z.mean(1).var(0)
    return ((draws - 1 + between / within) / draws).sqrt()
