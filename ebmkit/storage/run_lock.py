"""One process at a time works on a run."""

from __future__ import annotations

import os
from pathlib import Path

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import storing

if os.name == "posix":
    import fcntl

FILE = ".occupied"


class Occupied:
    """A lock on a run's folder that the system takes away when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        with storing(folder / FILE):
            self._file = (folder / FILE).open("a")
            alone = _try(self._file.fileno())
        if not alone:
            self._file.close()
            raise StorageFailed(f"{folder}: another process is at work on this run")

    def leave(self) -> None:
        """Let others in."""
        self._file.close()


def is_occupied(folder: Path) -> bool:
    """Whether a process is at work on a run."""
    try:
        with (folder / FILE).open("r") as file:
            return not _try(file.fileno())
    except OSError:
        return False


def _try(descriptor: int) -> bool:
    if os.name != "posix":  # runs are not guarded there
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
