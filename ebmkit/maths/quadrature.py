"""The normaliser of an energy by the trapezoidal rule, in one or two dimensions.

`Grid` is the rule in one box, also for use in a loss: differentiable in the energy, and without host synchronisation.
`rule` finds the box and the spacing adaptively.
"""

from __future__ import annotations

from functools import partial
from math import expm1, isfinite, log
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch
from ebmkit.contracts.unmeasurable import Unmeasurable

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

#: Points per side of the first grid, by dimension; odd, so that every second point is also a grid.
FIRST = {1: 1025, 2: 257}
#: Maximum number of points of a grid: 2049 per side in the plane.
MOST = 5_000_000
#: Maximum width of the box, relative to the range of the points.
WIDEST = 1000.0
#: Points whose energy is computed at a time.
BLOCK = 1 << 15


class Grid(NamedTuple):
    """Evenly spaced points in a box: `origin + unit * extent` along each of its d axes."""

    unit: Tensor  # (side,)
    origin: Tensor  # (d,)
    extent: Tensor  # (d,)
    width: Tensor  # (d,), from the first point to the last

    @classmethod
    def between(cls, low: Tensor, high: Tensor, side: int) -> Grid:
        """From one corner of the box `(d,)` to the other, with this many points per side."""
        unit = torch.linspace(0, 1, side, device=low.device, dtype=low.dtype)
        return cls(unit, low, high - low, high - low)

    @classmethod
    def around(cls, center: Tensor, half: Tensor, side: int) -> Grid:
        """A box around a point `(d,)` by half of its width `(d,)`."""
        unit = torch.linspace(-1, 1, side, device=center.device, dtype=center.dtype)
        return cls(unit, center, half, 2 * half)

    @property
    def x(self) -> Tensor:
        """The points, `(side^d, d)`."""
        axes = self.origin + self.unit.unsqueeze(1) * self.extent
        return torch.cartesian_prod(*axes.unbind(1)).view(-1, len(self.origin))

    @property
    def log_cell(self) -> Tensor:
        """The log volume of a cell."""
        return (self.width / (len(self.unit) - 1)).log().sum()

    def log_p(self, energy: Callable[[Tensor], Tensor]) -> Tensor:
        """`-E` at the points, `(side, ...)`."""
        return -energy(self.x).view([len(self.unit)] * len(self.origin))

    def with_half_ends(self, log_p: Tensor) -> Tensor:
        """Half the weight at both ends of an axis, for a density that does not vanish there."""
        index = torch.arange(len(self.unit), device=log_p.device)
        at_end = (index == 0) | (index == len(index) - 1)
        ends = (1 - at_end.to(log_p.dtype) / 2).log()
        for axis in range(log_p.dim()):
            log_p = log_p + ends.view([-1 if axis == k else 1 for k in range(log_p.dim())])
        return log_p


def log_sum(log_p: Tensor, every: int = 1, margin: int = 0) -> Tensor:
    """The log of the sum of p over every second, third, ... point of a grid, without a margin at its edge."""
    inner = slice(margin, log_p.shape[0] - margin, every)
    return log_p[(inner,) * log_p.dim()].logsumexp(tuple(range(log_p.dim())))


class Integral(NamedTuple):
    """`log Z`, and an estimate of its error."""

    log_z: float
    error: float


class Rule(NamedTuple):
    """The points of a grid `(N, d)`, their log probabilities without the cell `(side, ...)`, and the integral."""

    x: Tensor
    log_p: Tensor
    integral: Integral

    def mean(self, values: Tensor, every: int = 1) -> float:
        """The expectation of values `(N,)` at the points, or at every second point per side. Where the density is zero,
        infinite values are ignored, but not NaN."""
        inner = (slice(None, None, every),) * self.log_p.dim()
        weights = self.log_p[inner].flatten().softmax(0)
        values = values.view(self.log_p.shape)[inner].flatten()
        counted = torch.where((weights > 0) | values.isnan(), values, 0.0)
        return float((weights * counted).sum())


def log_integral(energy: Callable[[Tensor], Tensor], points: Tensor, tolerance: float) -> Integral:
    """The log of the integral of `exp(-E)`: see `rule`."""
    return rule(energy, points, tolerance).integral


def rule(energy: Callable[[Tensor], Tensor], points: Tensor, tolerance: float) -> Rule:
    """The trapezoidal rule for the density `exp(-E)`, where `points` `(N, d)` indicate where its mass is.

    The rule converges faster than any power of the spacing for a smooth density that vanishes at the edge. The box is
    therefore widened until almost no mass lies near its edge, and the grid refined until one of twice the spacing
    agrees. Raises `Unmeasurable` if neither helps. A value that is not finite is returned unchanged.
    """
    low, high = points.amin(0), points.amax(0)
    center, dimension = (low + high) / 2, points.shape[1]
    half = torch.where(high > low, 0.75 * (high - low), 1.0)
    lowest = float(blockwise(energy, points).min())
    side, widened = FIRST[dimension], 1.5
    while True:
        grid = Grid.around(center, half, side)
        log_p, log_cell = grid.log_p(partial(blockwise, energy)), float(grid.log_cell)
        log_z, coarse = (float(log_sum(log_p, every)) + dimension * log(every) + log_cell for every in (1, 2))
        at_edge = -expm1(float(log_sum(log_p, margin=side // 8)) - float(log_sum(log_p)))
        error = abs(log_z - coarse)
        if not isfinite(error):
            return Rule(grid.x, log_p, Integral(log_z, error))
        # A grid whose points are all much less probable than one of the given points has missed a peak.
        missed = lowest < -float(log_p.max()) - 1
        if at_edge > tolerance:
            if widened >= WIDEST:
                raise Unmeasurable(
                    f"a share of {at_edge:.2g} of the density lies at the edge of a box {widened:g} times as wide as "
                    "data and samples: the energy is not confining"
                )
            half, widened = 2 * half, 2 * widened
        elif error > tolerance or missed:
            side = 2 * side - 1
            if side**dimension > MOST:
                raise Unmeasurable(
                    f"log Z has an error of {error:.2g} even on the largest grid: the density is too narrow, or "
                    f"'tolerance' {tolerance:g} is too small"
                )
        else:
            return Rule(grid.x, log_p, Integral(log_z, error + at_edge))


def blockwise(energy: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Energies of many points, computed in blocks. Raises a FloatingPointError for NaN and for minus infinity; plus
    infinity stands for a density of zero."""
    found = torch.cat([energy(block) for block in torch.split(x, BLOCK)])
    if wrong := int((~(found > -torch.inf)).sum()):  # also if it is NaN
        raise FloatingPointError(f"the energy is not finite at {wrong} of {len(x)} points")
    return found
