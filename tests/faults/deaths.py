"""A disk that dies with the process: after so many operations, and without what was never synced."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

#: What changes a disk, apart from writing to a file.
CHANGES = ("fsync", "rename", "replace", "mkdir", "unlink", "remove", "rmdir")


class Died(BaseException):
    """The end. Nobody may catch it; whoever tries finds that nothing reaches the disk any more."""


class Disk:
    """As a context manager, stands between the process and what is below the working directory.

    Right behind its `deadline`-th operation the process dies: what it still does, to clean up perhaps, changes nothing.
    With `power` the power fails as well, and takes what the system had not promised to keep: half of every file that
    was not synced, and new names in folders that were not synced. Deletions stay, which is the worse of the two cases.
    """

    def __init__(self, deadline: int, *, power: bool) -> None:
        self.deadline = deadline
        self.power = power
        self.operations = 0
        self._unsynced: set[int] = set()  # inodes
        self._renamed: list[tuple[Path, Path, bytes | None]] = []
        self._really = {name: getattr(os, name) for name in CHANGES}
        self._open = io.open

    @property
    def dead(self) -> bool:
        """Whether it has come to that."""
        return self.operations >= self.deadline

    def __enter__(self) -> Self:
        for name in CHANGES:
            setattr(os, name, self._counted(getattr(self, f"_{name}", self._really[name])))
        io.open = self._opened
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        for name, function in self._really.items():
            setattr(os, name, function)
        io.open = self._open
        return kind is Died

    def count(self) -> None:
        """An operation was done."""
        self.operations += 1
        if self.dead:
            if self.power:
                self._lose()
            raise Died

    def _counted(self, operation: Callable[..., None]) -> Callable[..., None]:
        def counted(*arguments: Any, **options: Any) -> None:
            if not self.dead:
                operation(*arguments, **options)
                self.count()

        return counted

    def _fsync(self, descriptor: int) -> None:
        # Not really, which would take milliseconds: the machine that runs the test does not die.
        inode = os.fstat(descriptor).st_ino
        self._unsynced.discard(inode)
        self._renamed = [entry for entry in self._renamed if entry[1].parent.stat().st_ino != inode]

    def _replace(self, old: Any, new: Any) -> None:
        there = Path(new).read_bytes() if Path(new).is_file() else None
        self._really["replace"](old, new)
        self._renamed.append((Path(old), Path(new), there))

    _rename = _replace

    def _opened(self, file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if mode not in ("wb", "xb"):
            return self._open(file, mode, *arguments, **options)
        raw = Slow(os.devnull, "wb") if self.dead else Slow(file, mode)
        raw.disk = self
        self._unsynced.add(os.fstat(raw.fileno()).st_ino)
        if not self.dead:
            self.count()
        return io.BufferedWriter(raw)

    def _lose(self) -> None:
        for folder, _, names in os.walk("."):
            for path in (Path(folder) / name for name in names):
                if path.stat().st_ino in self._unsynced:
                    os.truncate(path, path.stat().st_size // 2)
        for old, new, there in reversed(self._renamed):
            if new.exists() and not old.exists():
                self._really["replace"](new, old)
                if there is not None:
                    with self._open(new, "wb") as file:
                        file.write(there)


class Slow(io.FileIO):
    """A file that is written in two halves."""

    disk: Disk

    def write(self, content: Any) -> int:
        half = len(content) // 2
        for part in (content[:half], content[half:]):
            if not self.disk.dead:
                super().write(part)
                self.disk.count()
        return len(content)
