"""Noise levels for given data, and the number of steps that a chain needs at each level.

The rules are those of Song and Ermon, "Improved techniques for training score-based generative models",
arXiv:2006.09011, except for two that are derived here: see `ratio` and `least_sigma`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, erf, lgamma, log, prod, sqrt
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.components.data.rows import plain_moments
from ebmkit.components.schedules.diameter import diameter
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: The share of a level's noise that lies where the next level was trained: C of technique 2.
SHARE = 0.5
#: Maximum relative excess of the variance over sigma^2 after a level: that of 5 steps per level on CIFAR-10.
EXCESS = 0.06
#: Smallest and largest published number of steps per level.
FEWEST, MOST = 5, 100
#: Maximum relative error of the variance of samples, and the most steps per level spent to reach it.
TOO_WIDE, MOST_WIDE = 0.1, 1000
#: Points count as near within the radius that holds this share of the data; noise may move a point by this part of it.
NEAR, MOVE = 0.01, 0.1
#: Number of points whose neighbours are sought, and of points searched: enough of both to estimate a hundredth.
CENTERS, OTHERS = 500, 10_000
#: Maximum number of distances in memory.
BLOCK = 1 << 20
#: Number of bisections, enough to find a number to the last bit.
HALVINGS = 100


class Least(NamedTuple):
    """The smallest noise level, and a description of the rule that gave it."""

    sigma: float
    rule: str


@dataclass(frozen=True)
class Steps:
    """Number of steps at a level, their size in units of sigma^2, and the variance after them in the same unit."""

    count: int
    size: float
    variance: float


@dataclass(frozen=True)
class Suggestion:
    """The suggested noise levels and steps for given data."""

    points: int
    coordinates: int
    #: Length of the mean over sqrt(d), and the root of the mean variance of a coordinate.
    offset: float
    deviation: float
    sigma_max: float
    sigma_min: float
    #: The rule that gave sigma_min.
    rule: str
    count: int
    #: The ratio of neighbouring levels, and the largest that is allowed.
    ratio: float
    largest_ratio: float
    #: Mass that the noise distributions of two neighbours share.
    overlap: float
    steps_per_level: int
    #: At the last level, as a parameter of `annealed_langevin`.
    step_size: float
    #: Variance after a level, over sigma^2.
    variance: float
    #: Variance of samples of a Gaussian as wide as the data, over its exact value.
    width: float

    @property
    def unit_variance(self) -> bool:
        """Whether `vp` and `cosine`, which assume data of mean 0 and variance 1, suit the data unchanged."""
        return self.offset <= 1 and 0.5 <= self.deviation <= 2

    @property
    def far_from_zero(self) -> bool:
        """Whether chains, which start around 0 with noise of sigma_max, start away from the data."""
        return self.offset > self.sigma_max


def suggest(data: Tensor, *, image: bool) -> Suggestion:
    """Noise levels for points `(N, *event)`, and the steps of annealed Langevin dynamics along them."""
    coordinates = prod(data.shape[1:])
    moments = plain_moments(data)
    sigma_max, least = _rounded(diameter(data)), least_sigma(data, image=image)
    sigma_min = _rounded(least.sigma)
    largest = ratio(coordinates)
    count = max(2, ceil(log(sigma_max / sigma_min) / log(largest)) + 1)
    gamma = (sigma_max / sigma_min) ** (1 / (count - 1))
    deviation = float(moments.std.square().mean().sqrt())
    steps = steps_for(gamma)
    enough, wide = enough_steps(steps, gamma, sigma_max, count, deviation)
    return Suggestion(
        points=len(data),
        coordinates=coordinates,
        offset=float(moments.mean.norm()) / sqrt(coordinates),
        deviation=deviation,
        sigma_max=sigma_max,
        sigma_min=sigma_min,
        rule=least.rule,
        count=count,
        ratio=gamma,
        largest_ratio=largest,
        overlap=overlap(coordinates, gamma),
        steps_per_level=enough,
        step_size=_rounded(steps.size * sigma_min**2),
        variance=steps.variance,
        width=wide,
    )


def least_sigma(data: Tensor, *, image: bool) -> Least:
    """The smallest noise level, at which noised data are almost the data.

    For images it is the published 0.01 for values in [0, 1]. For other points, the radius that contains a hundredth
    of the data is taken as the finest resolved scale; noise, which moves a point by about sigma sqrt(d), moves it by a
    tenth of that radius. Unlike the distance to the nearest neighbour, this does not depend on the number of points.
    Copies of a point do not count as near, so that data with few distinct values are handled.
    """
    if image:
        low, high = (float(end) for end in data.aminmax())
        return Least(
            (high - low) / 100, f"a hundredth of the range of values, {low:.3g} to {high:.3g}, as published for images"
        )
    centers, others = (_evenly(data, most) for most in (CENTERS, OTHERS))
    count = max(1, round(NEAR * (len(others) - 1)))
    radii = [_radius(block, others, count) for block in torch.split(centers, max(1, BLOCK // len(others)))]
    radius = float(torch.cat(radii).median())
    return Least(
        MOVE * radius / sqrt(others.shape[1]),
        f"which moves a point by a tenth of {radius:.3g}, the radius that contains a hundredth of the data",
    )


def _evenly(data: Tensor, most: int) -> Tensor:
    """At most this many of the points, flattened, evenly spaced in their order."""
    count = min(most, len(data))
    return data[torch.arange(count, device="cpu") * len(data) // count].flatten(1).double()


def _radius(centers: Tensor, others: Tensor, count: int) -> Tensor:
    """The distance of each center to its count-th neighbour, or to the farthest, not counting copies of the center."""
    apart = torch.cdist(centers, others, compute_mode="donot_use_mm_for_euclid_dist")
    radius = apart.masked_fill(apart == 0, float("inf")).kthvalue(count, 1).values
    return torch.where(radius.isfinite(), radius, apart.amax(1))


def ratio(coordinates: int, share: float = SHARE) -> float:
    """The largest ratio of neighbouring levels with which a chain that comes from the larger one starts within the
    noise on which the smaller one was trained.

    The length of noise of sigma is approximately N(sqrt(d) sigma, sigma^2 / 2). The fraction of the lengths at level
    gamma sigma within 3 deviations of the mean length at sigma must be `share`:

        Phi((3 - sqrt(2 d) (gamma - 1)) / gamma) - Phi((-3 - sqrt(2 d) (gamma - 1)) / gamma) = share

    Technique 2 uses the fraction of the smaller noise within the larger (`published_ratio`). In thousands of dimensions
    the two agree. In few dimensions the published ratio is too large, and below five there is none: the 3 deviations of
    the larger noise then reach down to 0, and contain all smaller noise.
    """
    a = sqrt(2 * coordinates)
    return _falling(lambda g: _normal((3 - a * (g - 1)) / g) - _normal((-3 - a * (g - 1)) / g), share) or 1.0


def published_ratio(coordinates: int, share: float = SHARE) -> float | None:
    """Technique 2 as published, or None if no ratio satisfies it:

    Phi(sqrt(2 d) (gamma - 1) + 3 gamma) - Phi(sqrt(2 d) (gamma - 1) - 3 gamma) = share
    """
    a = sqrt(2 * coordinates)
    return _falling(lambda g: _normal(a * (g - 1) + 3 * g) - _normal(a * (g - 1) - 3 * g), share)


def overlap(coordinates: int, gamma: float) -> float:
    """The exact mass that N(0, I) and N(0, gamma^2 I) share: the integral of the smaller density.

    It depends only on lengths, whose squares have chi-square distributions. The densities cross at
    r^2 = 2 d log(gamma) gamma^2 / (gamma^2 - 1).
    """
    gamma = max(gamma, 1 / gamma)
    excess = log(gamma)
    if excess < 1e-9:
        return 1.0
    square = -2 * coordinates * excess / torch.expm1(torch.tensor(-2 * excess, dtype=torch.float64)).item()
    half = torch.full((2,), coordinates / 2, dtype=torch.float64)
    within = torch.special.gammainc(half, torch.tensor([square / gamma**2 / 2, square / 2], dtype=torch.float64))
    return float(within[0] + 1 - within[1])


def steps_for(gamma: float) -> Steps:
    """The fewest steps per level that bring the variance near sigma^2, and their size: technique 4."""
    found = [_steps(gamma, count) for count in range(FEWEST, MOST + 1)]
    return next((steps for steps in found if steps.variance - 1 <= EXCESS), found[-1])


def enough_steps(steps: Steps, gamma: float, sigma_max: float, count: int, deviation: float) -> tuple[int, float]:
    """The number of such steps per level with which chains equilibrate for data of this width, and the resulting width.

    Technique 4 assumes data that are a single point. Where the noise is smaller than the deviation of the data, chains
    move by sigma in a wider distribution, and excess variance persists.
    """
    enough = steps.count
    while (wide := width_after(gamma, sigma_max, count, deviation, enough, steps.size)) - 1 > TOO_WIDE:
        if enough >= MOST_WIDE:
            break
        enough = ceil(1.1 * enough)
    return enough, wide


def width_after(gamma: float, sigma_max: float, count: int, deviation: float, steps: int, size: float) -> float:
    """The final variance of chains along all levels, over s^2 + sigma_L^2, for Gaussian data of deviation s.

    It starts at sigma_1^2. A step at sigma has the score -x / (sigma^2 + s^2), so that

        v' = (1 - alpha / (sigma^2 + s^2))^2 v + 2 alpha,    alpha = size sigma^2
    """
    v = sigma_max**2
    for level in range(count):
        sigma = sigma_max * gamma**-level
        alpha, there = size * sigma**2, sigma**2 + deviation**2
        shrink = (1 - alpha / there) ** 2
        end = 2 * alpha / (1 - shrink)
        v = end + shrink**steps * (v - end)
    return v / there


def variance_after(gamma: float, count: int, size: float) -> float:
    """Technique 4: the variance over sigma^2 of chains at noise sigma that come from gamma sigma, after this many
    steps of `size` sigma^2.

    A step x' = x - alpha x / sigma^2 + sqrt(2 alpha) xi, with alpha = size sigma^2, has v' = (1 - size)^2 v + 2 size,
    which converges to w = 2 / (2 - size):    v = w + (1 - size)^(2 count) (gamma^2 - w)
    """
    end = 2 / (2 - size)
    return end + (1 - size) ** (2 * count) * (gamma**2 - end)


def _steps(gamma: float, count: int) -> Steps:
    """The size that brings the variance nearest to sigma^2. As w exceeds 1 it is not reached: this is a minimum."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(gamma, count, middle) > 0 else (middle, high)
    return Steps(count, high, variance_after(gamma, count, high))


def _slope(gamma: float, count: int, size: float) -> float:
    """The derivative of `variance_after` with respect to the size; it changes sign once between 0 and 1."""
    end, change = 2 / (2 - size), 2 / (2 - size) ** 2
    left = (1 - size) ** (2 * count - 1)
    return change * (1 - left * (1 - size)) - 2 * count * left * (gamma**2 - end)


def radial_density(coordinates: int, sigma: float, log_r: Tensor) -> Tensor:
    """The density of log |sigma xi|, which has the same shape for all levels."""
    z = 2 * (log_r - log(sigma))
    constant = (coordinates / 2 - 1) * log(2) + lgamma(coordinates / 2)
    return (coordinates / 2 * z - z.exp() / 2 - constant).exp()


def _falling(of: Callable[[float], float], wanted: float) -> float | None:
    """Where a function that decreases from gamma = 1 on has the wanted value; None if it never becomes so small."""
    low, high = 1.0, 2.0
    while of(high) > wanted:
        low, high = high, 2 * high
        if high > 1e6:
            return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle) > wanted else (low, middle)
    return low


def _normal(z: float) -> float:
    return (1 + erf(z / sqrt(2))) / 2


def _rounded(value: float) -> float:
    """Three digits, which are easy to read and more than precise enough."""
    return float(f"{value:.3g}")
