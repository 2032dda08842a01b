"""Runge-Kutta methods for batches of ordinary differential equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

#: `dy/dt (B, n)` as a function of the time, one for all points or one each `(B,)`, and the points `(B, n)`.
Field: TypeAlias = Callable[[Any, Tensor], Tensor]


class Tableau(NamedTuple):
    """A Butcher tableau: nodes, matrix and weights of a Runge-Kutta method, and the weights of its error estimate."""

    nodes: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    #: Weights of the estimated error, for methods that adapt their steps.
    error_weights: tuple[float, ...] = ()


HEUN = Tableau((0, 1), ((), (1,)), (1 / 2, 1 / 2))
RK4 = Tableau((0, 1 / 2, 1 / 2, 1), ((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
#: Dormand and Prince's pair of orders 5 and 4.
DOPRI5 = Tableau(
    (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0),
    (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)

#: Step size control: safety factor, and the largest factors by which a step may shrink and grow.
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0


def runge_kutta(
    field: Field, tableau: Tableau, t: float | Tensor, y: Tensor, h: float | Tensor
) -> tuple[Tensor, list[Tensor]]:
    """One step from t of length h, numbers or `(B,)`, of either sign; returns the new point and the slopes."""
    slopes: list[Tensor] = []
    for node, row in zip(tableau.nodes, tableau.matrix, strict=True):
        slopes.append(field(t + node * h, y + _combined(row, slopes, h) if row else y))
    return y + _combined(tableau.weights, slopes, h), slopes


def _combined(weights: tuple[float, ...], slopes: list[Tensor], h: float | Tensor) -> Tensor:
    first, *others = (weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight)
    return sum(others, first) * (h if isinstance(h, float) else h.unsqueeze(-1))


def solve_ode(field: Field, y: Tensor, start: float, end: float, tolerance: float, tries: int) -> Tensor:
    """Integrate `y (B, n)` from one time to another, with adaptive steps for every row.

    A row's step is accepted if its estimated error, in units of tolerance (1 + |y|), has a root mean square below 1.
    There is one host synchronisation per try, to see whether all rows have arrived. Raises a FloatingPointError at a
    point where the field is not finite, which no shorter step can avoid.
    """
    t, target = (y.new_full((len(y),), time) for time in (start, end))
    h, lost = (target - t) / 10, torch.zeros_like(t, dtype=torch.bool)
    for _ in range(tries):
        left = target - t
        going, stuck = torch.stack([(left != 0).sum(), lost.sum()]).tolist()
        if stuck:
            raise FloatingPointError(f"the slope of {stuck} of {len(y)} equations is not finite")
        if not going:
            return y
        h = torch.where(h.abs() < left.abs(), h, left)
        reached, slopes = runge_kutta(field, DOPRI5, t, y, h)
        lost = (left != 0) & ~slopes[0].isfinite().all(1)
        unit = tolerance * (1 + torch.maximum(y.abs(), reached.abs()))
        error = (_combined(DOPRI5.error_weights, slopes, h) / unit).square().mean(1).sqrt()
        error = torch.where(error.isfinite(), error, torch.inf)  # a shorter step may stay inside the domain
        accepted = (error <= 1) & (left != 0)
        t = torch.where(accepted, torch.where(h == left, target, t + h), t)
        y = torch.where(accepted.unsqueeze(1), reached, y)
        h = h * (SAFETY * error.clamp(min=1e-10).pow(-1 / 5)).clamp(SHRINK, GROW)
    late = int((t != target).sum())
    raise ArithmeticError(f"{late} of {len(y)} equations were not solved to {tolerance:g} in {tries} tries")
