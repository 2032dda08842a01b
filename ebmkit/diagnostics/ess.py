"""How many independent draws would know as much."""

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
    """The effective number of draws for the centre of each coordinate: that of the normal scores of half chains.

    NaN for less than four draws a chain and for a coordinate that never moves, where arviz gives the number of draws.

    Reference: Vehtari et al., arXiv:1903.08008.
    """
    return over_coordinates(lambda x: effective(normal_scores(split(x))), x)


def ess_tail(x: Tensor) -> Tensor:
    """The effective number of draws for the tails: the smaller of those of `x <= q`, for q the 5 % and 95 % quantiles.

    NaN for less than four draws a chain and for a coordinate that never moves, where arviz gives the number of draws.

    Reference: Vehtari et al., arXiv:1903.08008.
    """

    def smaller(x: Tensor) -> Tensor:
        low, high = (effective(split((x <= q).to(x))) for q in quantiles(x, 0.05, 0.95))
        return torch.minimum(low, high)

    return over_coordinates(smaller, x)


def ess_mean(x: Tensor) -> Tensor:
    """The effective number of draws for the mean of each coordinate, which must have a variance.

    NaN for less than four draws a chain and for a coordinate that never moves, where arviz gives the number of draws.

    Reference: Gelman et al., Bayesian Data Analysis, third edition, 2013, section 11.5.
    """
    return over_coordinates(lambda x: effective(split(x)), x)


def effective(x: Tensor) -> Tensor:
    """The effective number of the draws of several chains, `(chains, draws, b) -> (b,)`.

        ess = S / tau,    tau = 1 + 2 sum_t rho_t,    rho_t = 1 - (W - mean_chains c_t) / var+

    W is the variance within chains and var+ = (N - 1)/N W + B/N; c_t are their autocovariances. The sum goes over pairs
    P_k = rho_2k + rho_2k+1, up to the first that is not positive, and no pair counts for more than an earlier one; of
    the pair behind them the even one counts once. S log10 S is the most that antithetic draws are believed to be worth.
    Draws that are all alike, as an indicator may be, are worth S.

    Reference: Geyer, "Practical Markov chain Monte Carlo", Stat. Sci. 7, 1992; Vehtari et al.,
    arXiv:1903.08008, section 3.2.
    """
    chains, draws, _ = x.shape
    size = chains * draws
    last = max(0, (draws - 3) // 2)  # beyond it pairs are of hardly any products
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
