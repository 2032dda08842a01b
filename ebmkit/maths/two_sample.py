"""Two-sample comparison: by how much samples differ from data, and how surely, in statistics that need no choice.

Points are compared column by column in units of the data, so that shifts and scales of columns change nothing. Every
difference has a size, which does not depend on the number of points, and a p-value, which does.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.judgement import Difference, Kind
from ebmkit.contracts.lazy import torch
from ebmkit.maths.centred import squared_distances

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Points of either set whose distances are compared, and random relabellings of them: the cost is bounded.
POINTS, RELABELLINGS = 500, 999
#: The first relabellings, which are enough if this many of them separate the sets as well as the true labels.
FIRST, ENOUGH = 99, 10
#: The relative error of a sum in float32.
SUM_ROUNDING = 1e-6
#: The number of columns whose correlations are compared; of more columns, those with the largest spread are.
CORRELATED = 64
#: The fewest held-out points whose correlations are compared.
FEW = 20
#: The number of neighbours that vote on whether a point is a sample.
NEIGHBOURS = 10
#: A place without data is as far from all data points as this share of data points are from all others.
APART = 0.05
#: Smaller spreads, in units of a column, are not distinguished: for vectors, and for images, whose pixels share a unit.
FINE, FINE_IMAGE = 0.02, 0.2
#: Larger correlations are not distinguished.
TIGHT = 0.9998
#: Distances that differ by less than this share of the largest one between data are equal but for rounding.
DISTANCE_ROUNDING = 1e-12
#: The widths of Gaussian kernels in median distances between data points.
WIDTHS = (0.25, 0.5, 1.0)


class Columns(NamedTuple):
    """Samples and data, `(n, d)` and `(m, d)`, centred and in units of the data, in float64."""

    samples: Tensor
    data: Tensor
    #: The number of independent samples among the samples.
    independent: int
    #: Spreads below this are not distinguished.
    fine: float


def in_units_of_data(samples: Tensor, data: Tensor, independent: int, *, image: bool) -> Columns:
    """Columns in units of the spread of the data: each in its own, or all in one for images.

    Points far outside the bulk of the data are moved to the edge of a wide box around it: a heavy tail does not decide
    means and spreads.
    """
    ordered, cut = data.sort(0).values, len(data) // 40
    low, high = ordered[cut], ordered[len(data) - 1 - cut]
    width = high - low
    low, high = low - width / 2, high + width / 2
    y = data.clamp(low, high)
    center = y.mean(0)
    # A column in which most of the data are equal has no box.
    x = torch.where(width > 0, samples.clamp(low, high), samples) - center
    y = torch.where(width > 0, y, data) - center
    spread = y.std(0)
    usual = spread.square().mean().sqrt()
    usual = torch.where(usual > 0, usual, 1e-6 * data.abs().max() + 1e-300)
    unit = usual.expand_as(spread) if image else torch.where(spread > 1e-9 * usual, spread, usual)
    return Columns(x / unit, y / unit, independent, FINE_IMAGE if image else FINE)


def differences(columns: Columns, rng: Generator, *, spreads: bool = True) -> list[Difference]:
    """The largest difference of every kind. Without `spreads`, as for units with two values, means tell all of them.

    A single sample has neither a spread nor a correlation.
    """
    several = len(columns.samples) > 1
    found = [_mean(columns), *([_spread(columns)] if spreads and several else [])]
    if several and columns.data.shape[1] > 1 and len(columns.data) >= FEW:
        found.append(_correlation(columns))
    return [*found, *_by_distances(columns, rng)]


def smallest_visible(independent: int, held_out: int, p_value: float) -> float:
    """The shift of a mean, in spreads of the data, that is found with this p-value in half of all cases."""
    return NormalDist().inv_cdf(1 - p_value / 2) * math.sqrt(1 / independent + 1 / held_out)


def _mean(columns: Columns) -> Difference:
    x, y, n, _ = columns
    difference = x.mean(0) - y.mean(0)
    var_x = x.var(0) if len(x) > 1 else torch.zeros_like(difference)
    error = _pooled(var_x, y.var(0), n, len(y))
    at, p_value = _worst(difference.abs(), error, len(y))
    return Difference("mean", (at,), float(x.mean(0)[at]), 0.0, float(difference[at].abs()), p_value)


def _spread(columns: Columns) -> Difference:
    x, y, n, fine = columns
    var_x, var_y = x.var(0), y.var(0)
    difference = ((var_x + fine**2) / (var_y + fine**2)).log() / 2
    # The variance of the logarithm of a standard deviation, by the fourth moment.
    error = _pooled((_kurtosis(x) - 1) / 4, (_kurtosis(y) - 1) / 4, n, len(y))
    at, p_value = _worst(difference.abs(), error, len(y))
    spreads = float(var_x[at].sqrt()), float(var_y[at].sqrt())
    return Difference("spread", (at,), *spreads, float(difference[at].abs()), p_value)


def _pooled(of_samples: Tensor, of_data: Tensor, n: int, m: int) -> Tensor:
    """The standard error of a difference, from the variance of one point times the numbers of points.

    The larger variance is used for both sets: if they do not differ, each is an estimate of the same number, and that
    of few points, or of a rare value, is often much too small.
    """
    return (torch.maximum(of_samples, of_data) * (1 / n + 1 / m)).sqrt()


def _kurtosis(x: Tensor) -> Tensor:
    square = (x - x.mean(0)).square()
    return (square.square().mean(0) / square.mean(0).square().clamp(min=1e-300)).clamp(min=1.2)


def _correlation(columns: Columns) -> Difference:
    """By Fisher's transform, whose differences mean the same for weak and for strong correlations."""
    x, y, n, _ = columns
    chosen = y.var(0).topk(min(CORRELATED, y.shape[1])).indices.sort().values
    (r_x, error_x), (r_y, error_y) = (_fisher(points.index_select(1, chosen)) for points in (x, y))
    difference = (r_x.atanh() - r_y.atanh()).abs()
    error = _pooled(error_x, error_y, n, len(y))
    first, second = torch.triu_indices(len(chosen), len(chosen), 1, device=x.device)
    at, p_value = _worst(difference[first, second], error[first, second], len(y))
    i, j = int(first[at]), int(second[at])
    pair = int(chosen[i]), int(chosen[j])
    return Difference("correlation", pair, float(r_x[i, j]), float(r_y[i, j]), float(difference[i, j]), p_value)


def _fisher(x: Tensor) -> tuple[Tensor, Tensor]:
    """Correlations, and the variance of their Fisher transforms times the number of points, by fourth moments."""
    u = x - x.mean(0)
    u = u / u.square().mean(0).sqrt().clamp(min=1e-12)
    squares, n = u.square(), len(u)
    r = (u.T @ u / n).clamp(-TIGHT, TIGHT)
    even, odd = squares.T @ squares / n, (squares * u).T @ u / n
    fourth = squares.square().mean(0)
    variance = even - r * (odd + odd.T) + r.square() / 4 * (fourth + fourth[:, None] + 2 * even)
    return r, variance.clamp(min=0.2 * (1 - r.square()).square()) / (1 - r.square()).square()


def _worst(size: Tensor, error: Tensor, held_out: int) -> tuple[int, float]:
    """The index of the largest difference among the significant ones, or of the most significant one; its p-value."""
    t, degrees = size / error.clamp(min=1e-300), max(1, held_out - 1)
    # Student's t as a normal number (Wallace, Ann. Math. Stat. 30, 1959).
    z = (8 * degrees + 1) / (8 * degrees + 3) * (degrees * (t.square() / degrees).log1p()).sqrt()
    p_values = (len(size) * torch.special.erfc(z / math.sqrt(2))).clamp(max=1)
    significant = p_values < 0.001
    at = int(torch.where(significant, size, -1).argmax() if bool(significant.any()) else z.argmax())
    return at, float(p_values[at])


def _by_distances(columns: Columns, rng: Generator) -> list[Difference]:
    """What distances between points show: samples apart from data, data without samples, and a classifier."""
    x, y, independent, _ = columns
    n = min(POINTS, independent, len(x), len(y))
    x, y = (points[torch.randperm(len(points), generator=rng, device=points.device)[:n]] for points in (x, y))
    distances = squared_distances(torch.cat([x, y]), torch.cat([x, y]))
    rounding = DISTANCE_ROUNDING * distances[n:, n:].max()  # of equal points, as categories and pixels often are
    distances.fill_diagonal_(math.inf)
    own = distances[n:, n:].amin(1)
    edge = own.sort().values[math.ceil((1 - APART) * n) - 1] + rounding
    usual = float((own > edge).double().mean())
    found = []
    between: dict[Kind, Tensor] = {"apart": distances[:n, n:].amin(1), "missed": distances[:n, n:].amin(0)}
    for kind, nearest in between.items():
        share = float((nearest > edge).double().mean())
        # Both shares depend on the same data points, which about doubles the variance of their difference.
        pooled = (share + usual) / 2 + 0.5 / n
        z = (share - usual) / math.sqrt(4 * pooled * (1 - min(pooled, 0.999)) / n)
        found.append(Difference(kind, (), share, usual, max(0.0, share - usual), 0.5 * math.erfc(z / math.sqrt(2))))
    return [*found, _recognised(distances, n, rng)]


def _recognised(distances: Tensor, n: int, rng: Generator) -> Difference:
    """Two classifiers that leave out the point itself: most of its neighbours, and the larger sum of kernels.

    The p-value is that of the better one, by relabelling: of the share of neighbours in the own set, or of the maximum
    mean discrepancy. It is sequential (Besag and Clifford, Biometrika 78, 1991): most samples that match the data are
    as far from it as some of the first relabellings, and a p-value of about 0.1 or more needs no others.
    """
    if n < 2:  # a point has no neighbour of its own set
        return Difference("recognised", (), 0.5, 0.5, 0.0, 1.0)
    labels = torch.ones(2 * n, dtype=torch.float32, device=distances.device)
    labels[n:] = -1
    neighbours = distances.topk(min(NEIGHBOURS, n - 1), largest=False).indices
    near = torch.zeros_like(distances, dtype=torch.float32).scatter_(1, neighbours, 1)
    scale = distances[n:, n:].median().clamp(min=1e-300)
    kernel = torch.zeros_like(near)
    for width in WIDTHS:
        kernel += (distances / (-2 * width**2 * scale)).float().exp_()
    both = torch.stack([near, kernel])
    true, random = _agreements(both, labels, FIRST, rng)
    # What is below the rounding of a sum is no spread: of one point of either set all labels are alike.
    center, spread = random.mean(1), torch.maximum(random.std(1), SUM_ROUNDING * both.sum((1, 2)))
    excess = (true - center) / spread
    made, as_good = FIRST, _as_good(random, center, spread, excess)
    if as_good < ENOUGH:
        made = RELABELLINGS
        as_good += _as_good(_agreements(both, labels, made - FIRST, rng)[1], center, spread, excess)
    votes = labels * (both[0 if bool(excess[0] >= excess[1]) else 1] @ labels)
    share = float((votes > 0).double().mean() + (votes == 0).double().mean() / 2)
    return Difference("recognised", (), share, 0.5, max(0.0, share - 0.5), (as_good + 1) / (made + 1))


def _agreements(both: Tensor, labels: Tensor, count: int, rng: Generator) -> tuple[Tensor, Tensor]:
    """Of both classifiers, the agreement of votes with the true labels, `(2,)`, and with random ones, `(2, count)`.

    They are in one product, so that equal labels are equally rounded.
    """
    orders = [torch.randperm(len(labels), generator=rng, device=labels.device) for _ in range(count)]
    columns = torch.cat([labels[:, None], labels[torch.stack(orders, 1)]], 1)
    agreement = (columns * (both @ columns)).sum(1)
    return agreement[:, 0], agreement[:, 1:]


def _as_good(random: Tensor, center: Tensor, spread: Tensor, excess: Tensor) -> int:
    """The number of random labels with which one of the classifiers is at least as good as the better one."""
    either = ((random - center[:, None]) / spread[:, None]).amax(0)
    return int((either >= excess.max()).sum())
