"""Independent ways to know the right answer."""

import math

import torch
from torch import Tensor

#: Shapes of a state: the dimensions in which slips show, and an image.
EVENTS = [(1,), (2,), (10,), (1, 4, 4)]

#: False-alarm probability of a whole statistical test, shared among its comparisons (Bonferroni).
FALSE_ALARM = 1e-6


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal_cdf(x: Tensor) -> Tensor:
    return torch.special.ndtr(x)


def ks_p_value(x: Tensor, cdf) -> float:
    """Kolmogorov-Smirnov: the asymptotic probability of a larger distance, if x are draws from `cdf`."""
    n = len(x)
    u = cdf(x.sort().values)
    rank = torch.arange(n + 1) / n
    distance = max(float((rank[1:] - u).max()), float((u - rank[:-1]).max()))
    scaled = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if scaled < 0.3:
        return 1.0
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101)))


def assert_follows(draws_and_cdfs) -> None:
    """Each of the draws follows its law."""
    p_values = [ks_p_value(x, cdf) for x, cdf in draws_and_cdfs]
    assert min(p_values) > FALSE_ALARM / len(p_values), p_values


def assert_mean(draws: Tensor, mean: Tensor | float) -> None:
    """The mean of the rows is `mean`, within six standard errors; twenty or more rows."""
    assert len(draws) >= 20
    error = draws.std(0) / math.sqrt(len(draws))
    off = (draws.mean(0) - mean).abs()
    assert bool((off <= 6 * error + 1e-12).all()), (off / error).max()


def random_covariance(dimension: int, seed: int) -> Tensor:
    """Positive definite, with eigenvalues that differ."""
    rng = generator(seed)
    basis = torch.linalg.qr(torch.randn(dimension, dimension, generator=rng)).Q
    covariance = basis @ torch.diag(0.3 + 2 * torch.rand(dimension, generator=rng)) @ basis.T
    return (covariance + covariance.T) / 2


def rows(matrix: Tensor) -> tuple:
    """A matrix as a spec gives it."""
    return tuple(map(tuple, matrix.tolist()))


def quadrature_log_z(module, dimension: int, reach: float = 30.0, points: int = 700) -> float:
    """log of the integral of exp(-E), by the trapezoidal rule, in one or two dimensions."""
    axis = torch.linspace(-reach, reach, points)
    x = torch.cartesian_prod(*[axis] * dimension).view(-1, dimension)
    with torch.no_grad():
        log_sum = torch.logsumexp(-module(x), 0)
    return float(log_sum) + dimension * math.log(float(axis[1] - axis[0]))


def numeric_gradient(loss, parameter: Tensor, eps: float = 1e-5) -> Tensor:
    """Central differences of `loss()` in every entry of a parameter."""
    flat, gradient = parameter.data.view(-1), torch.zeros(parameter.numel())
    for i in range(len(flat)):
        kept = float(flat[i])
        flat[i] = kept + eps
        above = float(loss().detach())
        flat[i] = kept - eps
        below = float(loss().detach())
        flat[i] = kept
        gradient[i] = (above - below) / (2 * eps)
    return gradient.view_as(parameter)
