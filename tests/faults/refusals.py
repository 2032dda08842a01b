"""A file system that refuses: an error of the system at any one operation below a folder, once or from then on."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

REAL_OPEN = io.open

#: What is done to files, and which of the arguments tells to which.
OPERATIONS = {"fsync": 0, "replace": 1, "rename": 1, "mkdir": 0, "unlink": 0, "open": 0}


@dataclass(frozen=True)
class Operation:
    """What is done, `open`, `write`, `fsync`, ..., and to which file below the folder, whatever its temporary name."""

    what: str
    name: str


class Refusals:
    """As a context manager, writes down every operation below `folder`, and refuses the one whose number is `at`.

    With `lasting` all later ones are refused too: a disk that is full stays full.
    """

    def __init__(self, folder: Path, at: int | None = None, number: int = 0, *, lasting: bool = False) -> None:
        self.folder = folder
        self.at = at
        self.number = number
        self.lasting = lasting
        self.seen: list[Operation] = []

    def __enter__(self) -> Self:
        self._patches = pytest.MonkeyPatch()
        for name, argument in OPERATIONS.items():
            self._patches.setattr(os, name, self._guarded(name, getattr(os, name), argument))
        self._patches.setattr(io, "open", self._open)
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.undo()

    def meet(self, what: str, path: Any) -> None:
        """Somebody is about to do `what` to a file."""
        if isinstance(path, int):
            path = Path(f"/proc/self/fd/{path}").readlink()
        path = Path(os.fsdecode(path))
        if not path.is_relative_to(self.folder):
            return
        self.seen.append(Operation(what, plain(path.relative_to(self.folder))))
        number = len(self.seen) - 1
        if number == self.at or (self.lasting and self.at is not None and number > self.at):
            raise OSError(self.number, os.strerror(self.number), None if what in ("write", "fsync") else str(path))

    def _guarded(self, what: str, real: Callable[..., Any], argument: int) -> Callable[..., Any]:
        def guarded(*arguments: Any, **options: Any) -> Any:
            self.meet(what, arguments[argument])
            return real(*arguments, **options)

        return guarded

    def _open(self, file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **options: Any) -> Any:
        if isinstance(file, int) or "r" in mode or not Path(file).is_relative_to(self.folder):
            return REAL_OPEN(file, mode, buffering, *rest, **options)
        self.meet("open", file)
        return _Raw(self, file, mode.replace("b", "")).dressed(mode, buffering, *rest, **options)


class _Raw(io.FileIO):
    """A file of which a refused write leaves half of its bytes behind."""

    def __init__(self, refusals: Refusals, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._refusals = refusals

    def write(self, content: Any) -> int:
        try:
            self._refusals.meet("write", self.name)
        except OSError:
            super().write(bytes(content)[: len(bytes(content)) // 2])
            raise
        return super().write(content)

    def dressed(
        self,
        mode: str,
        buffering: int,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """As `open` would return it."""
        buffered = io.BufferedWriter(self)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)


def plain(path: Path) -> str:
    """A path in a run without what differs between runs: numbers of processes and the run's own name."""
    parts = [re.sub(r"^\.(.+)\.(\d+|deleted)$", r"\1", part) for part in path.parts]
    return "/".join(parts[2:]) or "."
