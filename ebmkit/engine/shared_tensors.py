"""Tensors of a run that metrics, hooks and panels share, and whether one of these modified them in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

T = TypeVar("T", bound=Tensor | None)

#: Tensors of up to this many numbers are compared with a copy, which also finds changes by numpy. Changes by torch are
#: found by the version that it counts, at no cost.
COMPARED = 1 << 20


class _HandedOut:
    """A tensor, and how it was when it was handed out."""

    def __init__(self, tensor: Tensor, *, compare: bool) -> None:
        self.tensor, self.version = tensor, _version(tensor)
        self.copy = tensor.clone() if compare and tensor.numel() <= COMPARED else None

    def is_modified(self) -> bool:
        if _version(self.tensor) != self.version:
            return True
        if self.copy is None:
            return False
        # Bit by bit, since NaN differs from itself.
        return self.tensor.shape != self.copy.shape or not torch.equal(_bits(self.tensor), _bits(self.copy))

    def restore(self) -> None:
        if self.copy is not None and self.tensor.shape == self.copy.shape:
            self.tensor.copy_(self.copy)


@dataclass
class SharedTensors:
    """What a view hands out, by the expression that gives it, such as `view.samples(200)`."""

    #: Only the tensors given to foreign code are remembered.
    watching: bool = False
    _handed_out: dict[str, _HandedOut] = field(default_factory=dict)

    def hand_out(self, name: str, tensor: T, *, compare: bool = True) -> T:
        """The tensor itself."""
        if self.watching and tensor is not None and name not in self._handed_out:
            self._handed_out[name] = _HandedOut(tensor, compare=compare)
        return tensor

    def modified(self) -> str:
        """The name of the first tensor that was modified in place; empty if none was. Those that were copied are
        restored, for others that use them."""
        found = {name: of for name, of in self._handed_out.items() if of.is_modified()}
        for each in found.values():
            each.restore()
        return next(iter(found), "")


@contextmanager
def watched(view: RunView) -> Iterator[SharedTensors]:
    """Around a call of foreign code: what it gets from the view is watched."""
    before, view.shared = view.shared, SharedTensors(watching=True)
    attributes = {f"view.traces['{name}']": trace for name, trace in view.traces.items()}
    if view.draws is not None:
        attributes["view.draws.x"] = view.draws.x
        attributes |= {f"view.draws.seen['{name}']": of for name, of in view.draws.seen.items()}
    if view.sample_labels is not None:
        attributes["view.sample_labels"] = view.sample_labels
    for name, tensor in attributes.items():  # copies would cost time in every call, also in those that use none
        view.shared.hand_out(name, tensor, compare=False)
    try:
        yield view.shared
    finally:
        view.shared = before


def _bits(tensor: Tensor) -> Tensor:
    return tensor.flatten().contiguous().view(torch.uint8)


def _version(tensor: Tensor) -> int:
    """The number of changes in place; torch does not count those of tensors of inference, and forbids most."""
    return 0 if tensor.is_inference() else tensor._version
