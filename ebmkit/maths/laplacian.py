"""First and second derivatives of an energy with respect to x that keep their graph, for use in a loss."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import torch
from torch import Tensor, nn

#: Columns of the Hessian at a time, so that its memory does not grow with the dimension.
COLUMNS = 16


def gradient(module: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """The point of differentiation, and `dE/dx` there."""
    point = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(module(point).sum(), point, create_graph=True)
    return point, slope


def laplacian(module: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """`dE/dx`, and the trace of the Hessian `(B,)`.

    A module with a cheaper implementation defines `laplacian(x) -> (E, dE/dx, trace)`. Others are differentiated twice,
    a block of columns of the Hessian at a time.
    """
    by_hand: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]] | None = getattr(module, "laplacian", None)
    if by_hand is not None:
        return by_hand(x)[1:]
    point, slope = gradient(module, x)
    dimension, trace = prod(x.shape[1:]), x.new_zeros(len(x))
    for first in range(0, dimension, COLUMNS):
        units = torch.eye(dimension, device=x.device, dtype=x.dtype)[first : first + COLUMNS]
        units = units.view(-1, 1, *x.shape[1:]).expand(-1, *x.shape)
        trace = trace + along(slope, point, units).sum(0)
    return slope, trace


def along(slope: Tensor, point: Tensor, v: Tensor) -> Tensor:
    """`v'Hv` for directions v `(K, B, *event)`, as `(K, B)`, from the gradient and the point where it was taken."""
    # An energy that is linear in x has a gradient that does not depend on it.
    (products,) = torch.autograd.grad(slope, point, v, create_graph=True, is_grads_batched=True, materialize_grads=True)
    return (products * v).flatten(2).sum(2)
