"""A lock that allows one process at a time to work on a run."""

from __future__ import annotations

import errno
from pathlib import Path

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import storing

#: The locked file. It is empty, remains after the run, and is not part of its results.
FILE = ".lock"

#: Seconds to wait for the lock: `is_locked` in another process holds it for a moment.
PATIENCE = 0.5


class RunLock:
    """A lock on a run's folder that the system releases when the process ends, also when it is killed."""

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout  # a slow import that most verbs do not need

        # Not local to a thread: the thread that ends a run need not be the one that began it.
        self._lock = FileLock(folder / FILE, timeout=PATIENCE, thread_local=False)
        with storing(folder / FILE):
            try:
                self._lock.acquire()
            except Timeout as error:
                raise StorageFailed(f"{folder}: another process is working on this run") from error
            except NotImplementedError as error:  # older versions of filelock, on a file system without locks
                raise StorageFailed(f"{folder / FILE}: {error}") from error

    def release(self) -> None:
        """Let other processes work on the run."""
        self._lock.release()


def is_locked(folder: Path) -> bool:
    """Whether a process is working on a run; also True if this cannot be determined.

    A folder that cannot be written to is an archive: no run is at work in it.
    """
    from filelock import FileLock

    if not (folder / FILE).exists():  # asking must not create it
        return False
    try:
        with FileLock(folder / FILE, timeout=0, thread_local=False):
            return False
    except (OSError, NotImplementedError) as error:  # filelock's Timeout is an OSError
        return getattr(error, "errno", None) not in (errno.EACCES, errno.EPERM, errno.EROFS)
