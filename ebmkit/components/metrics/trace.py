"""Traces of the chains that drew the samples."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


#: Numbers that are converted at once.
BLOCK = 1 << 16


def trace(view: View, name: str, samples: int) -> Tensor:
    """The mean over chains at each step, for chains that draw at least `samples` samples."""
    view.samples(samples)
    if name not in view.traces:
        raise ValueError(f"the sampler does not report '{name}'")
    return view.traces[name].cpu().double()


def mean(numbers: Tensor) -> float:
    """The mean, without rounding errors of the sum; long chains have millions of numbers."""
    return fsum(number for block in torch.split(numbers, BLOCK) for number in block.tolist()) / len(numbers)
