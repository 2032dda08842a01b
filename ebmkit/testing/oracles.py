"""Independent reference results: quadrature, finite differences, and tests of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ebmkit.contracts.kinds import Event, Model
from ebmkit.testing.law import Inapplicable, require

#: False-alarm probability of a statistical law, divided among its comparisons (Bonferroni). Seeds are fixed as well.
FALSE_ALARM = 1e-6

DRAWS = 20_000

#: The values of a unit, by space.
VALUES = {"binary": (0.0, 1.0), "spin": (-1.0, 1.0)}
#: Maximum number of states that are enumerated.
FEW = 1 << 16

#: Largest accepted error of a rule with half of its points. With all of them the error is at most its square.
BELIEVED = 1e-5


def values_of(model: Model) -> tuple[float, ...]:
    """All values of a unit of a model; none if its states are real."""
    traits = model.traits()
    if traits.space == "categorical":
        return tuple(float(k) for k in range(traits.categories or 0))
    return VALUES.get(traits.space, ())


def generator(seed: int) -> Generator:
    return Generator().manual_seed(seed)


# Finite differences ---------------------------------------------------------------------------------------------------


def require_slope(value: Callable[[], Tensor], at: Sequence[Tensor], slopes: Sequence[Tensor], what: str) -> None:
    """The gradient `slopes` of `value()` in the tensors `at` agrees with central differences along three directions.

    Several widths are tried and the best one counts: wide ones have truncation errors, narrow ones rounding errors, and
    any may contain the kink of a relu.
    """
    for seed in range(3):
        along = _direction(at, seed)
        claimed = float(sum((slope * way).sum() for slope, way in zip(slopes, along, strict=True)))
        found = [_difference(value, at, along, width) for width in (1e-3, 1e-4, 1e-5, 1e-6)]
        best = min(found, key=lambda number: abs(number - claimed))
        off = abs(best - claimed)
        require(
            off <= 1e-6 * (1 + abs(claimed)),
            f"{what} is {claimed:.9g} along a direction, but differences give {best:.9g}, off by {off:.3g}",
        )


def _direction(at: Sequence[Tensor], seed: int) -> list[Tensor]:
    """A random unit vector, in the shapes of some tensors."""
    rng = generator(seed)
    along = [torch.randn(tensor.shape, generator=rng, dtype=tensor.dtype) for tensor in at]
    length = math.sqrt(sum(float(way.square().sum()) for way in along))
    return [way / length for way in along]


@torch.no_grad()
def _difference(value: Callable[[], Tensor], at: Sequence[Tensor], along: Sequence[Tensor], width: float) -> float:
    kept = [tensor.detach().clone() for tensor in at]
    sides = []
    for sign in (1, -1):
        for tensor, origin, way in zip(at, kept, along, strict=True):
            tensor.copy_(origin + sign * width * way)
        with torch.enable_grad():  # needed by losses with inner derivatives, such as score matching
            sides.append(float(value().detach()))
    for tensor, origin in zip(at, kept, strict=True):
        tensor.copy_(origin)
    return (sides[0] - sides[1]) / (2 * width)


# Quadrature -----------------------------------------------------------------------------------------------------------


class Quadrature(NamedTuple):
    """Points, their shares of the mass, the log of the total, and the error with half of the points."""

    x: Tensor  # (N, *event)
    weights: Tensor  # (N,), summing to one
    log_z: float
    error: float

    @property
    def believed(self) -> bool:
        """Whether the error is small enough; false for nan."""
        return self.error <= BELIEVED

    def mean(self, values: Tensor) -> Tensor:
        """The expectation of values `(N, ...)` at the points."""
        mean: Tensor = torch.tensordot(self.weights, values, dims=1)
        return mean


@torch.no_grad()
def integrate(log_density: Callable[[Tensor], Tensor], event: Event) -> Quadrature:
    """The trapezoidal rule in one or two dimensions, in float64.

    On a sufficiently fine grid it is exact to rounding for smooth densities. The first grid is finest at zero and
    extends far, for densities that are narrow in one place and wide in another; the second is evenly spaced around the
    mass. A rule is accepted if every second point per side gives the same result.
    """
    dimension = math.prod(event)
    if dimension > 2:
        raise Inapplicable(f"{dimension} dimensions are too many for quadrature")
    points = 20_000 if dimension == 1 else 1_000  # even, so that zero, where some densities are singular, is no point
    t = torch.linspace(-15, 15, points, dtype=torch.float64)
    uneven = 0.01 * t.sinh(), (0.01 * t.cosh()).log() + math.log(30 / (points - 1))
    found = _rule(log_density, event, [uneven] * dimension)
    if not found.believed:
        low, high = found.x.flatten(1)[found.weights > 1e-14 * found.weights.max()].aminmax(dim=0)
        found = _rule(log_density, event, [_even(*bounds, points) for bounds in zip(low, high, strict=True)])
    if not found.believed:
        raise Inapplicable(f"no grid of {points} points per side resolves it")
    return found


@torch.no_grad()
def enumerated(log_density: Callable[[Tensor], Tensor], event: Event, values: Sequence[float]) -> Quadrature:
    """All states of a few discrete units, in float64, and their probabilities."""
    units = math.prod(event)
    if len(values) ** units > FEW:
        raise Inapplicable(f"{units} units of {len(values)} values have too many states to enumerate")
    x = torch.cartesian_prod(*[torch.tensor(values, dtype=torch.float64)] * units).view(-1, *event)
    log_p = log_density(x)
    return Quadrature(x, log_p.softmax(0), float(log_p.logsumexp(0)), 0.0)


def _even(low: Tensor, high: Tensor, points: int) -> tuple[Tensor, Tensor]:
    """An axis with a margin on both sides, and the log width of its cells."""
    margin = 0.2 * float(high - low)
    axis = torch.linspace(float(low) - margin, float(high) + margin, points, dtype=torch.float64)
    return axis, (axis[1:2] - axis[:1]).log().expand(points)


def _rule(log_density: Callable[[Tensor], Tensor], event: Event, axes: Sequence[tuple[Tensor, Tensor]]) -> Quadrature:
    x = torch.cartesian_prod(*[axis for axis, _ in axes]).view(-1, *event)
    cells = torch.cartesian_prod(*[width for _, width in axes]).view(len(x), -1).sum(1)
    mass = log_density(x) + cells
    log_z = torch.logsumexp(mass, 0)
    weights = (mass - log_z).exp()
    every_second = weights.view([len(axis) for axis, _ in axes])[(slice(None, None, 2),) * len(axes)]
    return Quadrature(x, weights, float(log_z), abs(float(every_second.sum()) * 2 ** len(axes) - 1))


# Samples --------------------------------------------------------------------------------------------------------------


def features(x: Tensor) -> Tensor:
    """Bounded functions of states: waves along random directions, coarse and fine, `(N, *event) -> (N, 12)`."""
    flat = x.flatten(1).double()
    rng = generator(0)
    scale = torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64).repeat(4)
    directions = torch.randn(flat.shape[1], 12, generator=rng, dtype=torch.float64) * scale / math.sqrt(flat.shape[1])
    phases = 2 * math.pi * torch.rand(12, generator=rng, dtype=torch.float64)
    return (flat @ directions + phases).cos()


def require_means(values: Tensor, expected: Tensor, what: str, *, allowance: float = 0.0) -> None:
    """The mean over the rows of independent `values` equals `expected`, up to chance and an `allowance` for bias."""
    error = values.std(0) / math.sqrt(len(values))
    _require_close(values.mean(0) - expected, error, what, allowance)


def require_same_law(x: Tensor, y: Tensor, what: str, *, allowance: float = 0.0) -> None:
    """Two sets of independent values have the same means, up to chance and an `allowance` for bias."""
    error = (x.var(0) / len(x) + y.var(0) / len(y)).sqrt()
    _require_close(x.mean(0) - y.mean(0), error, what, allowance)


def _require_close(off: Tensor, error: Tensor, what: str, allowance: float) -> None:
    off, error = off.detach().reshape(-1).double(), error.detach().reshape(-1).double()
    chance = torch.tensor(1 - FALSE_ALARM / len(off) / 2, dtype=torch.float64)
    most = float(torch.special.ndtri(chance)) * error + allowance + 1e-9
    worst = int((off.abs() / most).argmax())
    require(
        bool((off.abs() <= most).all()),
        f"{what} is off by {float(off[worst]):.4g}, but chance explains at most {float(most[worst]):.4g}",
    )
