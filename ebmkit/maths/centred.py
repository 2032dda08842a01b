"""Points relative to a common centre, without cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def precise(x: Tensor) -> Tensor:
    """Points in float64, on their device if it supports float64."""
    return (x.cpu() if x.device.type == "mps" else x).double()


def centred(*sets: Tensor) -> tuple[Tensor, ...]:
    """Sets of points `(N, d)` in float64, less the mean of the first set.

    Far from the origin, products of coordinates are much larger than the differences that matter. In float64 the square
    of a float32 number has no rounding error, and points near their mean have none left to cancel.
    """
    points = [precise(x) for x in sets]
    center = points[0].mean(0)
    return tuple(x - center for x in points)


def squared_distances(x: Tensor, y: Tensor) -> Tensor:
    """Squared Euclidean distances `(N, M)` of centred points, from products, which are fast in many dimensions."""
    squares = (x.square().sum(1, keepdim=True) + y.square().sum(1)).addmm_(x, y.T, alpha=-2)
    return squares.clamp_(min=0)  # rounding may leave a distance slightly below zero; nan stays nan
