"""Activations with backward passes that need no graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.chains.private_torch import pullback

_leaky_relu = partial(F.leaky_relu, negative_slope=0.2)

#: The function, and its vector-Jacobian product `(gradient, input, output)` in one kernel, in place of the output.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor, Tensor], Tensor]]] = {
    "silu": (F.silu, pullback(F.silu, "silu_backward", lambda back, g, z, a: back(g, z, grad_input=a))),
    "softplus": (
        F.softplus,
        pullback(F.softplus, "softplus_backward", lambda back, g, z, a: back(g, z, 1, 20, grad_input=a)),
    ),
    "gelu": (F.gelu, pullback(F.gelu, "gelu_backward", lambda back, g, z, a: back(g, z, grad_input=a))),
    "tanh": (torch.tanh, pullback(torch.tanh, "tanh_backward", lambda back, g, z, a: back(g, a, grad_input=a))),
    "relu": (F.relu, pullback(F.relu, "threshold_backward", lambda back, g, z, a: back(g, a, 0, grad_input=a))),
    "leaky_relu": (
        _leaky_relu,
        pullback(_leaky_relu, "leaky_relu_backward", lambda back, g, z, a: back(g, z, 0.2, False, grad_input=a)),
    ),
}
