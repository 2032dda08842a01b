"""The diameter of the data, for the largest noise level."""

from __future__ import annotations

from math import isqrt, sqrt
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Gt

from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor

#: A noise level, or `auto` for the largest distance between two training points.
SigmaMax = Annotated[float, Gt(0)] | Literal["auto"]

#: Numbers in memory at once, of points and of distances.
BLOCK = 1 << 22


def check_sigmas(sigma_max: float | str, sigma_min: float) -> None:
    """Raise a ValueError unless sigma_max is above sigma_min."""
    if not isinstance(sigma_max, str) and sigma_max <= sigma_min:
        raise ValueError(f"'sigma_max' is {sigma_max}, but must be above 'sigma_min', {sigma_min}")


def single_point(question: Question) -> str | None:
    """Why `auto` has no value, in words that follow the name of a schedule; None if it may have one."""
    if question.data and question.train_points == 1:
        name = question.data.component_name
        return f"sets 'sigma_max' to the largest distance of training points, but data '{name}' has one: give a number"
    return None


def known(sigma_max: float | str) -> float:
    """The level as a number; `auto` has one only after `fitted`."""
    if isinstance(sigma_max, str):
        raise ValueError("'sigma_max: auto' is the largest distance between data points: without data, give a number")
    return sigma_max


def diameter(data: Tensor) -> float:
    """The largest distance between two of the points `(N, *event)`, exactly, in blocks of bounded memory.

    Two points are at most as far apart as the sum of their distances from the centre. Visiting points from the
    outermost inwards, most pairs can be skipped.
    """
    flat = data.detach().flatten(1)
    rows = max(1, BLOCK // flat.shape[1])
    center = torch.stack([block.double().sum(0) for block in torch.split(flat, rows)]).sum(0) / len(flat)
    if not bool(center.isfinite().all()):
        raise ValueError("some training points are not finite, so that their largest distance is not defined")

    def centred(block: Tensor) -> Tensor:
        return block.double() - center

    radius, order = torch.cat([centred(block).norm(dim=1) for block in torch.split(flat, rows)]).sort(descending=True)
    reach, largest = radius.tolist(), 0.0
    side = max(1, min(rows, isqrt(BLOCK)))
    for first in range(0, len(flat), side):
        if reach[first] + reach[0] <= largest:
            break
        outer = centred(flat[order[first : first + side]])
        for second in range(0, first + side, side):
            if second >= len(flat) or reach[first] + reach[second] <= largest:
                break
            inner = centred(flat[order[second : second + side]])
            # By products: cancellation affects close points only, and these are distant.
            squared = outer.square().sum(1, keepdim=True) + inner.square().sum(1) - 2 * outer @ inner.T
            largest = max(largest, sqrt(max(0.0, float(squared.max()))))
    if not largest > 0:
        raise ValueError("all training points are equal, so that 'sigma_max: auto' would be zero")
    return largest
