"""The normaliser of an energy by quadrature, in one or two dimensions."""

from __future__ import annotations

from math import expm1, isfinite, log
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

#: Points a side of the first grid, by dimension; odd, so that every second point is a grid too.
FIRST = {1: 1025, 2: 257}
#: Points of the largest grid: 2049 a side in the plane.
MOST = 5_000_000
#: How much wider than what the points span the box may become.
WIDEST = 1000.0
#: Points whose energy is computed at a time.
BLOCK = 1 << 15


class Integral(NamedTuple):
    """`log Z`, and an estimate of how far it is off."""

    log_z: float
    error: float


class Rule(NamedTuple):
    """The points of a grid `(N, d)`, their log probabilities without the cell `(side, ...)`, and the integral."""

    x: Tensor
    log_p: Tensor
    integral: Integral

    def mean(self, values: Tensor, every: int = 1) -> float:
        """The expectation of values `(N,)` at the points, or by every second point a side. Where the density is zero
        they do not count, whatever they are."""
        inner = (slice(None, None, every),) * self.log_p.dim()
        weights = self.log_p[inner].flatten().softmax(0)
        counted = torch.where(weights > 0, values.view(self.log_p.shape)[inner].flatten(), 0.0)
        return float((weights * counted).sum())


def log_integral(energy: Callable[[Tensor], Tensor], points: Tensor, tolerance: float) -> Integral:
    """The log of the integral of `exp(-E)`: see `rule`."""
    return rule(energy, points, tolerance).integral


def rule(energy: Callable[[Tensor], Tensor], points: Tensor, tolerance: float) -> Rule:
    """The trapezoidal rule for the density `exp(-E)`, where `points` `(N, d)` show where its mass is.

    The rule converges faster than any power of the spacing on a smooth density that vanishes at the edge. So the box
    is widened until next to nothing lies near its edge, and the grid refined until one of twice the spacing agrees.
    Raises a ValueError when neither helps. A number that is not finite is returned as it is.
    """
    low, high = points.amin(0), points.amax(0)
    center, dimension = (low + high) / 2, points.shape[1]
    half = torch.where(high > low, 0.75 * (high - low), 1.0)
    lowest = float(blockwise(energy, points).min())
    side, widened = FIRST[dimension], 1.5
    while True:
        unit = torch.linspace(-1, 1, side, device=points.device, dtype=points.dtype)
        axes = [unit * h + c for h, c in zip(half, center, strict=True)]
        grid = torch.cartesian_prod(*axes).view(-1, dimension)
        log_p = -blockwise(energy, grid).view((side,) * dimension)
        log_cell = float((2 * half / (side - 1)).log().sum())
        log_z, coarse = (_log_sum(log_p, every) + dimension * log(every) + log_cell for every in (1, 2))
        frame = side // 8
        at_edge = -expm1(_log_sum(log_p, 1, frame) - _log_sum(log_p, 1))
        error = abs(log_z - coarse)
        if not isfinite(error):
            return Rule(grid, log_p, Integral(log_z, error))
        # A grid on which no point is nearly as likely as some of the given ones has missed a peak.
        missed = lowest < -float(log_p.max()) - 1
        if at_edge > tolerance:
            if widened >= WIDEST:
                raise ValueError(
                    f"a share of {at_edge:.2g} of the density lies at the edge of a box {widened:g} times as wide as "
                    "data and samples: the energy does not confine it"
                )
            half, widened = 2 * half, 2 * widened
        elif error > tolerance or missed:
            side = 2 * side - 1
            if side**dimension > MOST:
                raise ValueError(
                    f"log Z is known to {error:.2g} only on the largest grid: the density is too narrow for it, or "
                    f"'tolerance' {tolerance:g} is too small"
                )
        else:
            return Rule(grid, log_p, Integral(log_z, error + at_edge))


def blockwise(energy: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Energies of many points, some at a time."""
    return torch.cat([energy(block) for block in torch.split(x, BLOCK)])


def _log_sum(log_p: Tensor, every: int, margin: int = 0) -> float:
    """The log of the sum of p over every second, third, ... point of the grid, without a margin at its edge."""
    inner = slice(margin, log_p.shape[0] - margin, every)
    return float(log_p[(inner,) * log_p.dim()].logsumexp(tuple(range(log_p.dim()))))
