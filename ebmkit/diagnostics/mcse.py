"""Monte Carlo standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.diagnostics.coordinates import over_coordinates
from ebmkit.diagnostics.ess import effective
from ebmkit.diagnostics.split import split

if TYPE_CHECKING:
    from torch import Tensor


def mcse_mean(x: Tensor) -> Tensor:
    """The Monte Carlo standard error of the mean of each coordinate, from the effective sample size.

        mcse = sd / sqrt(ess_mean)

    NaN for fewer than four draws per chain and for a constant coordinate, where arviz gives zero.

    Reference: Vehtari et al., arXiv:1903.08008.
    """
    return over_coordinates(lambda x: x.flatten(0, 1).std(0) / effective(split(x)).sqrt(), x)
