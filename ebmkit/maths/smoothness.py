"""Activations with their first and second derivatives, and the gradient norms of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812, the usual name


class Bend(NamedTuple):
    """An activation at z, with its first and second derivative."""

    value: Tensor
    slope: Tensor
    curvature: Tensor


def _silu(z: Tensor) -> Bend:
    s = z.sigmoid()
    value, slope = z * s, torch.addcmul(s, s, s, value=-1)
    return Bend(value, torch.addcmul(s, z, slope), slope * torch.sub(z + 2, value, alpha=2))


def _softplus(z: Tensor) -> Bend:
    s = z.sigmoid()
    return Bend(F.softplus(z), s, s * (1 - s))


def _gelu(z: Tensor) -> Bend:
    density = torch.exp(-z.square() / 2) / sqrt(2 * pi)
    mass = torch.special.ndtr(z)
    return Bend(z * mass, mass + z * density, density * (2 - z.square()))


def _tanh(z: Tensor) -> Bend:
    value = z.tanh()
    slope = 1 - value.square()
    return Bend(value, slope, -2 * value * slope)


def _relu(z: Tensor) -> Bend:
    return Bend(z.relu(), (z > 0).to(z.dtype), torch.zeros_like(z))


#: Activations from which second derivatives of an energy are computed; all values can be differentiated once more.
BENDS: dict[str, Callable[[Tensor], Bend]] = {
    "silu": _silu,
    "softplus": _softplus,
    "gelu": _gelu,
    "tanh": _tanh,
    "relu": _relu,
}

#: Values in a block of Jacobians. Measured with 50 inputs on a CPU: blocks that fit its caches take 2/3 of the time.
CPU_BLOCK = 1 << 18
BLOCK = 1 << 26


def squared_lengths(weights: Sequence[Tensor], bends: Sequence[Bend]) -> list[Tensor]:
    """`|dz/dx|^2` of the input of every unit, `(B, width)`; for the first layer `(width,)`, the same everywhere.

    Jacobians are propagated with respect to x, or to the units of the first layer if these are fewer: then
    `|dz/dx|^2 = (dz/dz1) W1 W1' (dz/dz1)'`, and an image costs no more than a state with as many pixels as units.
    """
    if not weights:
        return []
    first, *later = weights
    lengths = [first.square().sum(1)]
    if not later:
        return lengths
    width, inputs = first.shape
    across = min(inputs, width) * max(map(len, later))
    rows = max(1, (CPU_BLOCK if first.device.type == "cpu" else BLOCK) // across)
    push, start = (_from_inputs, first.T.contiguous()) if inputs < width else (_from_units, first @ first.T)
    slopes = [torch.split(bend.slope, rows) for bend in bends[:-1]]
    blocks = [push(start, later, block) for block in zip(*slopes, strict=True)]
    return [*lengths, *(torch.cat(layer) for layer in zip(*blocks, strict=True))]


def _from_inputs(inward: Tensor, weights: Sequence[Tensor], slopes: Sequence[Tensor]) -> list[Tensor]:
    lengths, jacobian = [], inward
    for weight, slope in zip(weights, slopes, strict=True):
        # (B, inputs, width): one product of matrices for all inputs of all states
        jacobian = F.linear(slope.unsqueeze(1) * jacobian, weight)
        lengths.append(jacobian.square().sum(1))
    return lengths


def _from_units(gram: Tensor, weights: Sequence[Tensor], slopes: Sequence[Tensor]) -> list[Tensor]:
    lengths: list[Tensor] = []
    jacobian: Tensor | None = None
    for weight, slope in zip(weights, slopes, strict=True):
        bent = weight * slope.unsqueeze(1)  # (B, width, width before)
        jacobian = bent if jacobian is None else bent @ jacobian  # (B, width, width of the first layer)
        lengths.append((jacobian * (jacobian @ gram)).sum(2))
    return lengths
