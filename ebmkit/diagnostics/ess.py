"""Effective sample size: the number of independent draws that carry the same information."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch
from ebmkit.diagnostics.autocorrelation import autocovariance
from ebmkit.diagnostics.coordinates import over_coordinates
from ebmkit.diagnostics.ranks import normal_scores, quantiles
from ebmkit.diagnostics.split import split

if TYPE_CHECKING:
    from torch import Tensor


def ess_bulk(x: Tensor) -> Tensor:
    """Bulk effective sample size of each coordinate: that of the normal scores of half chains.

    NaN for fewer than four draws per chain and for a constant coordinate, where arviz gives the number of draws.

    Reference: Vehtari et al., arXiv:1903.08008.
    """
    return over_coordinates(lambda x: effective(normal_scores(split(x))), x)


def ess_tail(x: Tensor) -> Tensor:
    """Tail effective sample size: the smaller of those of `x <= q`, for q the 5 % and 95 % quantiles.

    NaN for fewer than four draws per chain and for a constant coordinate, where arviz gives the number of draws.

    Reference: Vehtari et al., arXiv:1903.08008.
    """

    def smaller(x: Tensor) -> Tensor:
        low, high = (effective(split((x <= q).to(x))) for q in quantiles(x, 0.05, 0.95))
        return torch.minimum(low, high)

    return over_coordinates(smaller, x)


def ess_mean(x: Tensor) -> Tensor:
    """Effective sample size for the mean of each coordinate, which must have a finite variance.

    NaN for fewer than four draws per chain and for a constant coordinate, where arviz gives the number of draws.

    Reference: Gelman et al., Bayesian Data Analysis, third edition, 2013, section 11.5.
    """
    return over_coordinates(lambda x: effective(split(x)), x)


def effective(x: Tensor) -> Tensor:
    """The effective sample size of several chains, `(chains, draws, b) -> (b,)`.

        ess = S / tau,    tau = 1 + 2 sum_t rho_t,    rho_t = 1 - (W - mean_chains c_t) / var+

    W is the variance within chains and var+ = (N - 1)/N W + B/N; c_t are their autocovariances. The sum runs over pairs
    P_k = rho_2k + rho_2k+1 up to the first that is not positive (Geyer's initial positive sequence), made monotone by a
    running minimum; of the next pair the even term counts once. The result is at most S log10 S, a bound for antithetic
    draws. If all draws are equal, as those of an indicator may be, the result is S.

    Reference: Geyer, "Practical Markov chain Monte Carlo", Stat. Sci. 7, 1992; Vehtari et al.,
    arXiv:1903.08008, section 3.2.
    """
    chains, draws, _ = x.shape
    size = chains * draws
    last = max(0, (draws - 3) // 2)  # later pairs are averages of very few products
    c = autocovariance(x, 2 * last + 2).mean(0)
    within = c[0] * draws / (draws - 1)
    total = c[0] + x.mean(1).var(0)
    rho = 1 - (within - c) / total
    rho[0] = 1
    even, odd = rho[::2], rho[1::2]
    pair = even + odd
    count = (pair[:last] > 0).cumprod(0).sum(0, keepdim=True)
    counted = torch.arange(last + 1, device=x.device).unsqueeze(1) < count
    rest, behind = even.gather(0, count), pair.gather(0, count)
    rest = rest.where((rest > 0) | (behind >= 0), 0.0)
    tau = 2 * pair.cummin(0).values.where(counted, 0.0).sum(0) + rest[0] - 1
    return (size / tau.clamp(min=1 / log10(size))).where(total > 0, size)
