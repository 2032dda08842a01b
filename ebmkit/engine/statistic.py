"""A number that a training step reports, and its place in the spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from ebmkit.errors.source import Path


class Turn(IntEnum):
    """When a number arises within a step: if several are not finite, the earliest is the cause."""

    CHAIN = 0
    OUTPUT = 1
    OBJECTIVE = 2
    LOSS = 3
    GRADIENT = 4
    WEIGHT = 5


class Statistic(NamedTuple):
    """Its name, the place in the spec to report if it is not finite, and whether it is recorded or only checked."""

    name: str
    path: Path
    turn: Turn = Turn.OBJECTIVE
    recorded: bool = True
    #: More about a number that is not finite, such as the number of states.
    detail: str = ""
    #: What can be done about it, if all weights are finite.
    help: str = ""
    #: For a sum of several quantities: finds the one that is not finite. Only called if the sum is not.
    cause: Callable[[], Statistic] | None = None


def total(tensors: Sequence[Tensor]) -> Tensor:
    """A number that is not finite if any number of the tensors is not: one check for all of them."""
    flat = [tensor.flatten() for tensor in tensors]
    return (torch.cat(flat) if len(flat) > 1 else flat[0]).sum()


def is_finite(tensor: Tensor) -> bool:
    """Whether all numbers of a tensor are finite."""
    return bool(tensor.isfinite().all())


def wrong_rows(rows: Tensor) -> str:
    """The first number of `(n, ...)` that is not finite, and the number of rows that have one, in words."""
    flat = rows.reshape(len(rows) if rows.dim() else 1, -1)
    wrong = ~flat.isfinite()
    return f"{flat[wrong][0].item()} at {int(wrong.any(1).sum())} of {len(flat)} states"
