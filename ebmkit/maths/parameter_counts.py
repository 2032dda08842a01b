"""Numbers of parameters of layers, known before anything is built. Without torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

#: Number of frequencies in the embedding of a noise level. More of them distinguish levels that hardly differ.
WAVES = 8


def linear(before: int, after: int) -> int:
    """A linear layer with a bias."""
    return (before + 1) * after


def dense(widths: Sequence[int]) -> int:
    """Linear layers between consecutive widths."""
    return sum(linear(*step) for step in pairwise(widths))


def convolution(before: int, after: int, kernel: int) -> int:
    """A convolution of images with a bias."""
    return (before * kernel**2 + 1) * after


def noise_embedding(width: int, classes: int | None) -> int:
    """The embedding of a noise level, and of a label."""
    return dense([2 * WAVES + 1, width, width]) + (classes or 0) * width


def total(counts: Iterable[int | None]) -> int | None:
    """The sum, or None if one of the numbers is unknown."""
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if len(known) == len(found) else None
