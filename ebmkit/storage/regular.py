"""Opening regular files only: reading a pipe would wait forever, and a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

#: Names of kinds of files that are not regular, for messages.
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


def kind_of_file(mode: int) -> str | None:
    """What a file is if it is not a regular one, from `os.stat`: a folder, a pipe, a socket, a device or a link."""
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "not a regular file")


def open_regular(path: str | os.PathLike[str], *, follow: bool = True) -> IO[bytes]:
    """A regular file, open for reading; everything else is an OSError. Opening and reading it never wait.

    With `follow` unset, a link is refused too.
    """
    status = Path(path).stat(follow_symlinks=follow)  # opening alone wakes some devices
    if kind := kind_of_file(status.st_mode):
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", os.fspath(path))
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    if kind := kind_of_file(os.fstat(descriptor).st_mode):  # replaced in between
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")
