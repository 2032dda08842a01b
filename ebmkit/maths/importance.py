"""Estimates from the log weights of importance sampling."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class LogMean(NamedTuple):
    """The logarithm of the mean of weights."""

    value: float
    #: Standard error of the value: that of the mean relative to the mean (delta method).
    error: float
    #: Effective number of weights, `(sum w)^2 / sum w^2`.
    ess: float


def log_mean(log_weights: Tensor) -> LogMean:
    """`log((w_1 + ... + w_n) / n)` of log weights `(n,)`.

    Weights are often nearly log-normal, and an interval that is symmetric around the logarithm suits them:
    `value +- 1.96 error` covers the logarithm of the expected weight, if the ESS is not small.
    """
    n = len(log_weights)
    total = log_weights.logsumexp(0)
    ess = float((2 * total - (2 * log_weights).logsumexp(0)).exp())
    # With shares w_i / mean, the variance of which is n / ess - 1, and n - 1 in its estimate.
    relative = max(0.0, n / ess - 1) * n / (n - 1)
    return LogMean(float(total) - log(n), (relative / n) ** 0.5, ess)
