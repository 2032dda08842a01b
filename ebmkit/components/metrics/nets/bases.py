"""Base distributions of annealing: normalised, and sampled exactly."""

from __future__ import annotations

from math import log, pi, prod

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.one_hot import one_hot
from ebmkit.maths.categories import draw_categories

#: Dimensions up to which the covariance is a full matrix.
FULL = 1024
#: The variance of a constant coordinate by rounding, relative to its squared mean. It is given that of another one.
ROUNDING = 1e-24
#: Points of each value that are added to those of the data, so that no unit is certain.
PRIOR = 1.0


class GaussianBase(nn.Module):
    """N(0, I): `E(y) = |y|^2 / 2 + d/2 log(2 pi)`."""

    def __init__(self, event: tuple[int, ...]) -> None:
        super().__init__()
        self.event = event
        self.log_norm = prod(event) / 2 * log(2 * pi)

    def forward(self, y: Tensor) -> Tensor:
        return y.flatten(1).square().sum(1) / 2 + self.log_norm

    def energy_and_grad(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dy = y`."""
        return self(y), y

    def sample(self, n: int, like: Tensor, rng: Generator) -> Tensor:
        """Independent draws `(n, *event)` with the device and dtype of `like`."""
        return torch.empty(n, *self.event, device=like.device, dtype=like.dtype).normal_(generator=rng)


class BernoulliBase(nn.Module):
    """Independent units: `E(x) = -sum_i log p_i(x_i)`, where `logits` are the log odds of the higher value."""

    logits: Tensor

    def __init__(self, event: tuple[int, ...], values: tuple[float, float], logits: Tensor) -> None:
        super().__init__()
        self.event = event
        self.unit_values = values
        self.register_buffer("logits", logits)

    def forward(self, x: Tensor) -> Tensor:
        low, high = self.unit_values
        share = (x.flatten(1) - low) / (high - low)
        # log p(high) = -softplus(-logit), log p(low) = log p(high) - logit
        return (nn.functional.softplus(-self.logits) + (1 - share) * self.logits).sum(1)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx` of its linear continuation to real x, for samplers that use gradients."""
        low, high = self.unit_values
        return self(x), (-self.logits / (high - low)).expand(len(x), -1).reshape(x.shape)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """`(B, K)`, the same in all states."""
        return self.logits.index_select(0, sites).expand(len(x), -1)

    def sample(self, n: int, like: Tensor, rng: Generator) -> Tensor:
        """Independent draws `(n, *event)` with the device and dtype of `like`."""
        low, high = self.unit_values
        u = torch.empty(n, len(self.logits), device=like.device, dtype=like.dtype).uniform_(generator=rng)
        return (low + (high - low) * (u < self.logits.sigmoid()).to(like.dtype)).view(n, *self.event)


class CategoricalBase(nn.Module):
    """Independent units of K categories: `E(x) = -sum_i log p_i(x_i)`, with a row of `log_p (d, K)` for each."""

    log_p: Tensor

    def __init__(self, event: tuple[int, ...], log_p: Tensor) -> None:
        super().__init__()
        self.event = event
        self.unit_values = tuple(map(float, range(log_p.shape[1])))
        self.register_buffer("log_p", log_p)

    def forward(self, x: Tensor) -> Tensor:
        return self.one_hot_energy(one_hot(x, len(self.unit_values)))

    def one_hot_energy(self, hot: Tensor) -> Tensor:
        """The energy of one-hot vectors `(B, *event, K)`."""
        return -(hot.flatten(1, -2) * self.log_p).sum((1, 2))

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E`, and its gradient in one-hot vectors."""
        return self(x), -self.log_p.expand(len(x), -1, -1).reshape(*x.shape, -1)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """`(B, S, K)`, the same in all states."""
        return self.log_p.index_select(0, sites).expand(len(x), -1, -1)

    def sample(self, n: int, like: Tensor, rng: Generator) -> Tensor:
        """Independent draws `(n, *event)` with the device and dtype of `like`."""
        return draw_categories(self.log_p.to(like).expand(n, -1, -1), rng).view(n, *self.event)


def fit_gaussian(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean `(d,)` and the factor L of the covariance `L L'` of points, in float64 on the host.

    Correlations are reduced by the weight of d points without any, so that few points give a matrix of full rank. In
    many dimensions L is a diagonal `(d,)`, else a lower triangle `(d, d)`.
    """
    flat = x.flatten(1).to("cpu", torch.float64)
    n, d = flat.shape
    mean = flat.mean(0)
    variances = (flat - mean).square().mean(0)
    varies = variances > ROUNDING * mean.square()
    variances = torch.where(varies, variances, variances[varies].median() if varies.any() else 1.0)
    if d > FULL:
        return mean, variances.sqrt()
    covariance = (flat - mean).T @ (flat - mean) / n * (n / (n + d))
    covariance.diagonal().copy_(variances)
    return mean, torch.linalg.cholesky(covariance)


def fit_logits(x: Tensor, values: tuple[float, float]) -> Tensor:
    """Log odds `(d,)` of the higher value of every unit, in float64 on the host."""
    low, high = values
    flat = x.flatten(1).to("cpu", torch.float64)
    ones = ((flat - low) / (high - low)).sum(0)
    return ((ones + PRIOR) / (len(flat) - ones + PRIOR)).log()


def fit_log_p(x: Tensor, categories: int) -> Tensor:
    """The log frequencies `(d, K)` of the categories of every unit, in float64 on the host."""
    flat = x.flatten(1).to("cpu", torch.float64)
    counts = torch.stack([(flat == category).sum(0) for category in range(categories)], 1) + PRIOR
    return (counts / counts.sum(1, keepdim=True)).log()
