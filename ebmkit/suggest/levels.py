"""Noise levels that data call for, and the steps that a chain needs at each of them.

The rules are those of Song and Ermon, "Improved techniques for training score-based generative models",
arXiv:2006.09011, but for two that this file derives itself: see `ratio` and `least_sigma`.
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

#: Of the noise of a level, how much is to fall where the next one was trained: technique 2's C.
SHARE = 0.5
#: How far the variance behind a level may be from sigma^2: as far as 5 steps a level leave it on CIFAR-10.
EXCESS = 0.06
#: Steps a level, from the fewest that are published to the most.
FEWEST, MOST = 5, 100
#: How far the variance of samples may be from that of the data, and the most steps a level that are spent on it.
TOO_WIDE, MOST_WIDE = 0.1, 1000
#: How near is near: so much of the data. Noise may move a point by so much of the way there.
NEAR, MOVE = 0.01, 0.1
#: Points around which is looked, and points that are looked for: enough of both to know a hundredth.
CENTERS, OTHERS = 500, 10_000
#: Distances held at a time.
BLOCK = 1 << 20
#: Halvings after which a number is known to the last bit.
HALVINGS = 100


class Least(NamedTuple):
    """The smallest noise level, and the rule that gave it in words."""

    sigma: float
    rule: str


@dataclass(frozen=True)
class Steps:
    """How chains go through a level: so many steps, of a size in units of sigma^2, and the variance behind them in
    the same unit."""

    count: int
    size: float
    variance: float


@dataclass(frozen=True)
class Suggestion:
    """What suits some data."""

    points: int
    coordinates: int
    #: Length of the mean over sqrt(d), and the root of the mean variance of a coordinate.
    offset: float
    deviation: float
    sigma_max: float
    sigma_min: float
    #: Why sigma_min is what it is.
    rule: str
    count: int
    #: Of one level to the next, and the most that it could have been.
    ratio: float
    largest_ratio: float
    #: Mass that the noises of two neighbours have in common.
    overlap: float
    steps_per_level: int
    #: At the last level, as `annealed_langevin` takes it.
    step_size: float
    #: Behind a level, over sigma^2.
    variance: float
    #: Of samples of a Gaussian as wide as the data, the variance over what it should be.
    width: float

    @property
    def unit_variance(self) -> bool:
        """Whether `vp` and `cosine`, which are made for data of mean 0 and variance 1, suit the data as they are."""
        return self.offset <= 1 and 0.5 <= self.deviation <= 2

    @property
    def far_from_zero(self) -> bool:
        """Whether chains, which begin around 0 with noise of sigma_max, begin beside the data."""
        return self.offset > self.sigma_max


def suggest(data: Tensor, *, image: bool) -> Suggestion:
    """Noise levels for points `(N, *event)`, and steps to go down along them."""
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
    """The smallest noise level: so little noise that noised data are almost the data.

    Images have the published 0.01, where values range over [0, 1]. Of other points, the radius within which a
    hundredth of the data lies is the least that can be told from so many; noise, which moves a point by about
    sigma sqrt(d), goes a tenth of that way. Unlike the distance of the nearest neighbour, it does not depend on how
    many points there are. Copies of a point are not near it: data of few values are told apart.
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
        f"which moves a point by a tenth of {radius:.3g}, within which lies a hundredth of the data",
    )


def _evenly(data: Tensor, most: int) -> Tensor:
    """So many of the points at most, flat, from the first to the last."""
    count = min(most, len(data))
    return data[torch.arange(count, device="cpu") * len(data) // count].flatten(1).double()


def _radius(centers: Tensor, others: Tensor, count: int) -> Tensor:
    """How far from each center the count-th of the others is, or the last of them, but for copies of it."""
    apart = torch.cdist(centers, others, compute_mode="donot_use_mm_for_euclid_dist")
    radius = apart.masked_fill(apart == 0, float("inf")).kthvalue(count, 1).values
    return torch.where(radius.isfinite(), radius, apart.amax(1))


def ratio(coordinates: int, share: float = SHARE) -> float:
    """The largest ratio of two neighbouring levels with which a chain, coming from the larger one, is among the noise
    that the smaller one was trained with.

    Noise of sigma has a length of about N(sqrt(d) sigma, sigma^2 / 2). Of the lengths at level gamma sigma, the share
    that is within 3 deviations of the mean length at sigma has to be `share`:

        Phi((3 - sqrt(2 d) (gamma - 1)) / gamma) - Phi((-3 - sqrt(2 d) (gamma - 1)) / gamma) = share

    Technique 2 asks how much of the smaller noise is within the larger (`published_ratio`). In thousands of dimensions
    the answers agree. In few the published one is too large, and below five there is none: the deviations of the larger
    noise then reach down to 0, and hold all smaller noise.
    """
    a = sqrt(2 * coordinates)
    return _falling(lambda g: _normal((3 - a * (g - 1)) / g) - _normal((-3 - a * (g - 1)) / g), share) or 1.0


def published_ratio(coordinates: int, share: float = SHARE) -> float | None:
    """Technique 2 as published, or None where no ratio is so large:

    Phi(sqrt(2 d) (gamma - 1) + 3 gamma) - Phi(sqrt(2 d) (gamma - 1) - 3 gamma) = share
    """
    a = sqrt(2 * coordinates)
    return _falling(lambda g: _normal(a * (g - 1) + 3 * g) - _normal(a * (g - 1) - 3 * g), share)


def overlap(coordinates: int, gamma: float) -> float:
    """The mass that N(0, I) and N(0, gamma^2 I) have in common, the integral of the lower density, exactly.

    It is one of lengths alone, whose squares have chi-square laws. The densities cross where
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
    """The fewest steps a level that leave the variance near sigma^2, and their size: technique 4."""
    found = [_steps(gamma, count) for count in range(FEWEST, MOST + 1)]
    return next((steps for steps in found if steps.variance - 1 <= EXCESS), found[-1])


def enough_steps(steps: Steps, gamma: float, sigma_max: float, count: int, deviation: float) -> tuple[int, float]:
    """How many such steps a level let data as wide as these come to rest, and how wide samples then are.

    Technique 4 is for data that are a point. Where noise is less than the deviation of the data, chains move by sigma
    in a law that is wider, and what is too wide then stays so.
    """
    enough = steps.count
    while (wide := width_behind(gamma, sigma_max, count, deviation, enough, steps.size)) - 1 > TOO_WIDE:
        if enough >= MOST_WIDE:
            break
        enough = ceil(1.1 * enough)
    return enough, wide


def width_behind(gamma: float, sigma_max: float, count: int, deviation: float, steps: int, size: float) -> float:
    """Of chains along all levels on Gaussian data of a deviation s: their variance at the end, over s^2 + sigma_L^2.

    They begin with sigma_1^2. A step at sigma has the score -x / (sigma^2 + s^2), so that

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


def variance_behind(gamma: float, count: int, size: float) -> float:
    """Technique 4: of chains on noise of sigma that come from gamma sigma, the variance over sigma^2 behind so many
    steps of `size` sigma^2.

    A step x' = x - alpha x / sigma^2 + sqrt(2 alpha) xi, with alpha = size sigma^2, has v' = (1 - size)^2 v + 2 size,
    which goes to w = 2 / (2 - size):    v = w + (1 - size)^(2 count) (gamma^2 - w)
    """
    end = 2 / (2 - size)
    return end + (1 - size) ** (2 * count) * (gamma**2 - end)


def _steps(gamma: float, count: int) -> Steps:
    """The size that brings the variance nearest to sigma^2. It never gets there, as w is above 1: this is a minimum."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(gamma, count, middle) > 0 else (middle, high)
    return Steps(count, high, variance_behind(gamma, count, high))


def _slope(gamma: float, count: int, size: float) -> float:
    """The derivative of `variance_behind` in the size, which changes its sign once between 0 and 1."""
    end, change = 2 / (2 - size), 2 / (2 - size) ** 2
    left = (1 - size) ** (2 * count - 1)
    return change * (1 - left * (1 - size)) - 2 * count * left * (gamma**2 - end)


def radial_density(coordinates: int, sigma: float, log_r: Tensor) -> Tensor:
    """The density of log |sigma xi|, so that levels in equal ratios look alike side by side."""
    z = 2 * (log_r - log(sigma))
    constant = (coordinates / 2 - 1) * log(2) + lgamma(coordinates / 2)
    return (coordinates / 2 * z - z.exp() / 2 - constant).exp()


def _falling(of: Callable[[float], float], wanted: float) -> float | None:
    """Where a function that falls from gamma = 1 on is as wanted; None if it never gets so low."""
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
    """Three digits: as many as a reader wants, and more than matter."""
    return float(f"{value:.3g}")
