"""Activations, with a way back that needs no graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812, the name everybody uses

aten = torch.ops.aten

#: The function, and its vector-Jacobian product `(gradient, input, output)` in one kernel and the memory of the output.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor, Tensor], Tensor]]] = {
    "silu": (F.silu, lambda g, z, a: aten.silu_backward.grad_input(g, z, grad_input=a)),
    "softplus": (F.softplus, lambda g, z, a: aten.softplus_backward.grad_input(g, z, 1, 20, grad_input=a)),
    "gelu": (F.gelu, lambda g, z, a: aten.gelu_backward.grad_input(g, z, grad_input=a)),
    "tanh": (torch.tanh, lambda g, z, a: aten.tanh_backward.grad_input(g, a, grad_input=a)),
    "relu": (F.relu, lambda g, z, a: aten.threshold_backward.grad_input(g, a, 0, grad_input=a)),
    "leaky_relu": (
        partial(F.leaky_relu, negative_slope=0.2),
        lambda g, z, a: aten.leaky_relu_backward.grad_input(g, z, 0.2, False, grad_input=a),
    ),
}
