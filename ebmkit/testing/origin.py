"""Which line of a plugin made a tensor, and which line is at work, for messages about tensors on the wrong device."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import weakref
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from types import FrameType, ModuleType

import torch
from torch import Tensor

_TORCH = str(Path(torch.__file__).parent)
_EBMKIT = str(Path(__file__).parents[1])
_KIT = str(Path(__file__).parent)
_LAWS = str(Path(__file__).parent / "laws")
_OURS = (__file__, str(Path(__file__).with_name("device.py")))


def in_torch(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_TORCH)


def culprit() -> str:
    """The innermost line of a plugin: what it calls in ebmkit or torch is not where the mistake is.

    Where no law called a plugin, the innermost line outside torch and this package.
    """
    every = list(_outwards(sys._getframe(1)))
    called = list(takewhile(lambda frame: not frame.f_code.co_filename.startswith(_LAWS), every))
    lines = [frame for frame in called if not frame.f_code.co_filename.startswith((_TORCH, _KIT))]
    foreign = [frame for frame in lines if not frame.f_code.co_filename.startswith(_EBMKIT)]
    if len(called) == len(every):
        foreign = []
    outside = [frame for frame in every if not in_torch(frame) and frame.f_code.co_filename not in _OURS]
    return _site(next(iter((*foreign, *lines, *outside)), None))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _site(frame: FrameType | None) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else "?"


class Made:
    """The lines at which tensors were made while a device was watched."""

    def __init__(self) -> None:
        self._sites: dict[int, tuple[weakref.ref[Tensor], str]] = {}

    def record(self, tensor: Tensor) -> None:
        self._sites[id(tensor)] = weakref.ref(tensor), culprit()

    def site(self, tensor: Tensor) -> str:
        """`made at file:line`, with its name if it was made earlier and something holds it; empty if unknown."""
        reference, site = self._sites.get(id(tensor), (None, ""))
        if reference is not None and reference() is tensor:
            return f"made at {site}"
        return _held(tensor)


def _held(tensor: Tensor) -> str:
    """Who holds a tensor that was made before the device was watched, and the line that does."""
    for holder in gc.get_referrers(tensor):
        if not isinstance(holder, dict):
            continue
        name = next((key for key, value in holder.items() if value is tensor and isinstance(key, str)), None)
        if name is None:
            continue
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and vars(module) is holder:
                return _named(name, module, rf"^{re.escape(name)}\b[^=\n]*=")
        for owner in gc.get_referrers(holder):
            if getattr(owner, "__dict__", None) is holder and not isinstance(owner, type):
                return _named(f"self.{name}", type(owner), rf"^\s*self\.{re.escape(name)}\b[^=\n]*=")
    return ""


def _named(name: str, where: object, pattern: str) -> str:
    """The name, and the line that assigns it, if the source can be read."""
    try:
        lines, first = inspect.getsourcelines(where)  # type: ignore[arg-type]  # a module or a class
        file = Path(inspect.getsourcefile(where) or "?").name  # type: ignore[arg-type]
    except (OSError, TypeError):
        return f"held as {name}"
    found = next((number for number, line in enumerate(lines) if re.match(pattern, line)), None)
    return f"held as {name}" if found is None else f"{name}, made at {file}:{max(first, 1) + found}"
