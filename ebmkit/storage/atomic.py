"""Atomic writes: after a crash a file is complete or absent."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.expansion import check_sparse
from ebmkit.storage.regular import kind_of_file, open_regular

#: The temporary names used here, which end with a process id or with "deleted".
LEFT = re.compile(r"\..+\.(\d+|deleted)")
#: Bytes copied at once.
PIECE = 1 << 20


@contextmanager
def storing(path: Path, size: int | None = None) -> Iterator[None]:
    """Turn errors of the system into `StorageFailed`, with the path and, for a write, the number of bytes."""
    try:
        yield
    except OSError as error:
        what = "" if size is None else f", writing {size:,} bytes"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            with suppress(OSError):
                what += f" ({shutil.disk_usage(path.parent).free:,} free)"
        raise StorageFailed(f"{error.filename or path}: {error.strerror or error}{what}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a temporary file, fsync, rename, fsync the folder: after a crash there is the old file or the new one."""
    _replace(path, (content,), len(content))


def _replace(path: Path, pieces: Iterable[bytes], size: int) -> None:
    """The same for content that is not in memory as a whole."""
    with storing(path, size):
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.unlink(missing_ok=True)  # of a killed process with the same number
            with temporary.open("xb") as file:  # a new file: not one that a link of this name leads to
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            error.filename = str(path)  # name the file that was asked for, not the temporary one
            raise
        finally:
            with suppress(OSError):  # the first error is the one to report
                temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """The same for text, in UTF-8 with unchanged line ends. Names of files that are not text are written escaped."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """The same for an object as JSON; NaN or infinity in it is a bug and raises an error."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def open_append(path: Path) -> TextIO:
    """Open a text file for appending lines. In an untrusted folder it must not be another file under this name: a link
    is refused, and a file with several names (hard links) becomes a copy first."""
    with storing(path):
        if os.path.lexists(path):
            status = path.lstat()
            if kind := kind_of_file(status.st_mode):
                raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
            if status.st_nlink > 1:
                _separate(path)
        return path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)


def _separate(path: Path) -> None:
    """Replace a file that has other names by a copy, which has none."""
    with open_regular(path, follow=False) as file:
        try:
            check_sparse(file.fileno())  # a copy takes the full size on disk
        except ValueError as error:
            raise StorageFailed(f"{path}: {error}") from error
        _replace(path, iter(partial(file.read, PIECE), b""), os.fstat(file.fileno()).st_size)


def make_folder(path: Path) -> None:
    """Create a folder, which may already exist."""
    with storing(path):
        path.mkdir(parents=True, exist_ok=True)


def move_folder(folder: Path, to: Path) -> None:
    """Give a folder its final name, in one step that survives a crash."""
    with storing(to):
        folder.rename(to)
        sync_folder(to.parent)


def remove_folder(folder: Path) -> None:
    """Delete a folder. It is renamed first, so that a half-deleted folder is never mistaken for a complete one."""
    with storing(folder):
        doomed = folder.with_name(f".{folder.name}.deleted")
        _delete(doomed)
        folder.rename(doomed)
        _delete(doomed)


def sweep(folder: Path) -> None:
    """Delete temporary files that killed processes left in a folder and directly below it. The caller must have
    exclusive access to the folder."""
    with storing(folder):
        for path in [*folder.glob(".*"), *folder.glob("*/.*")]:
            if LEFT.fullmatch(path.name) and not path.parent.is_symlink():  # never outside the folder
                _delete(path)


def _delete(path: Path) -> None:
    """Delete a file or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    if os.name == "nt":  # not supported there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
