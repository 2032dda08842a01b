"""Random directions, and the curvature of an energy along them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt
from typing import Literal, TypeAlias

import torch
from torch import Generator, Tensor, nn

from ebmkit.maths.laplacian import gradient

Law: TypeAlias = Literal["gaussian", "rademacher", "sphere"]


def draw_probes(law: Law, x: Tensor, count: int, rng: Generator) -> Tensor:
    """Directions v with `E[v v'] = I`, `count` for each state: `(count, *x.shape)`."""
    v = torch.empty(count, *x.shape, device=x.device, dtype=x.dtype)
    if law == "rademacher":
        return v.bernoulli_(0.5, generator=rng).mul_(2).sub_(1)
    v.normal_(generator=rng)
    if law == "gaussian":
        return v
    length = v.flatten(2).norm(dim=2).view(count, len(x), *[1] * (x.dim() - 1))
    scale: Tensor = sqrt(prod(x.shape[1:])) / length
    return v * scale


def curvature(module: nn.Module, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """`dE/dx`, and the mean of `v'Hv` over directions v `(K, B, *event)`, as `(B,)`.

    A module with a cheaper implementation defines `curvature(x, v) -> (E, dE/dx, mean)`. Others are differentiated
    twice.
    """
    by_hand: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]] | None = getattr(module, "curvature", None)
    if by_hand is not None:
        return by_hand(x, v)[1:]
    point, slope = gradient(module, x)
    bent = torch.zeros_like(x)
    for direction in v:
        # An energy that is linear in x has a gradient that does not depend on it.
        (product,) = torch.autograd.grad(slope, point, direction, create_graph=True, materialize_grads=True)
        bent = bent + product * direction
    return slope, bent.flatten(1).sum(1) / len(v)
