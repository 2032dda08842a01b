"""A lock that allows one process at a time to work on a run."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.errors.running import StorageFailed
from ebmkit.storage import owner_file
from ebmkit.storage.atomic import storing
from ebmkit.storage.owner_file import Owner
from ebmkit.storage.regular import kind_of_file

if TYPE_CHECKING:
    from filelock import BaseFileLock

#: The locked file. It is empty, remains after the run, and is not part of its results.
FILE = ".lock"

#: Seconds to wait for the lock: `is_locked` in another process holds it for a moment.
PATIENCE = 0.5

#: The answers of file systems without locks.
_UNSUPPORTED = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}


class RunLock:
    """A lock on a run's folder that the system releases when the process ends, also when it is killed.

    Where the file system has no locks, a file names the process instead, and `notice` says so.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with storing(folder / FILE):
            _check_file(folder / FILE)
            self._lock = None if _has_no_locks(folder / FILE) else _acquired(folder)
            owner = owner_file.take(folder) if self._lock is None else Owner.of(folder)
        if owner is not None and owner.alive:
            if self._lock is not None:
                self._lock.release()
            raise StorageFailed(
                f"{folder}: {owner} is working on this run",
                help=f"if that process has ended, delete {folder / owner_file.FILE}",
            )

    @property
    def notice(self) -> str:
        """What the log should say about this lock, if anything."""
        if self._lock is not None:
            return ""
        return (
            f"the file system of this folder has no locks: the file {owner_file.FILE} says that this process works on "
            "the run; should the process be killed, delete the file before the run is continued on another machine"
        )

    def release(self) -> None:
        """Let other processes work on the run."""
        if self._lock is not None:
            self._lock.release()
            return
        with storing(self._folder / owner_file.FILE):
            owner_file.give_up(self._folder)


def is_locked(folder: Path) -> bool:
    """Whether a process is working on a run; also True if this cannot be determined.

    A folder that cannot be written to is an archive: no run is at work in it.
    """
    from filelock import FileLock

    owner = Owner.of(folder)
    if owner is not None and owner.alive:
        return True
    if not os.path.lexists(folder / FILE):  # asking must not create it
        return False
    try:
        _check_file(folder / FILE)
        if _has_no_locks(folder / FILE):
            return False
        with FileLock(folder / FILE, timeout=0, thread_local=False):
            return False
    except OSError as error:  # filelock's Timeout is an OSError
        return error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS)


def _acquired(folder: Path) -> BaseFileLock:
    from filelock import FileLock, Timeout  # a slow import that most verbs do not need

    # Not local to a thread: the thread that ends a run need not be the one that began it.
    lock = FileLock(folder / FILE, timeout=PATIENCE, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise StorageFailed(f"{folder}: another process is working on this run") from error
    return lock


def _check_file(path: Path) -> None:
    """Raise an OSError unless the file can be locked without harm: some versions of filelock empty it, wherever a link
    in an untrusted folder leads."""
    if not os.path.lexists(path):
        return
    status = path.lstat()
    kind = kind_of_file(status.st_mode)
    if status.st_nlink > 1 and status.st_size:
        kind = "another name of a file with content"
    if kind:
        raise OSError(errno.EINVAL, f"it is {kind}, but the lock of a run is an empty file; delete it", str(path))


def _has_no_locks(path: Path) -> bool:
    """Whether the file system refuses locks in general. A lock that another process holds does not count."""
    try:
        import fcntl
    except ImportError:  # Windows has locks of another kind
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _UNSUPPORTED
    finally:
        os.close(descriptor)  # releases it
    return False
