"""Conversion of images of bytes to floating-point states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.components.data.rows import dequantized
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Number of values of a byte.
LEVELS = 256

#: Number of images converted at a time: in float64 they take eight times as many bytes.
_BLOCK = 1024


def converted(k: Tensor, dequantize: bool, rng: Generator) -> Tensor:
    """Bytes as numbers in [-1, 1]: `2 k / 255 - 1`, or `2 (k + u) / 256 - 1` with u ~ U[0, 1)."""
    x = torch.empty(k.shape, dtype=torch.float32)
    for first in range(0, len(k), _BLOCK):
        block = k[first : first + _BLOCK].double()
        block = dequantized(block, LEVELS, rng) if dequantize else 2 * block / (LEVELS - 1) - 1
        x[first : first + len(block)] = block
    return x
