"""What the engine hands to an objective."""

from __future__ import annotations

from typing import NamedTuple

from torch import Generator, nn


class Context(NamedTuple):
    """Beside model and batch: the objective's own generator, its live side parts, and how far training is."""

    rng: Generator
    extras: nn.Module | None
    step: int
