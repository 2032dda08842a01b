"""Files that are either whole or not there."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ebmkit.errors.running import StorageFailed

#: The temporary names that are used here, with the number of a process or the word behind them.
LEFT = re.compile(r"\..+\.(\d+|deleted)")


@contextmanager
def storing(path: Path, size: int | None = None) -> Iterator[None]:
    """What the system refuses becomes `StorageFailed` with the path in it and, for a write, how many bytes it had."""
    try:
        yield
    except OSError as error:
        what = "" if size is None else f", writing {size:,} bytes"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            with suppress(OSError):
                what += f" ({shutil.disk_usage(path.parent).free:,} free)"
        raise StorageFailed(f"{error.filename or path}: {error.strerror or error}{what}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Temporary file, fsync, rename, fsync of the folder: after a crash there is the old file or the new one."""
    with storing(path, len(content)):
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            error.filename = str(path)  # nobody asked for the temporary file
            raise
        finally:
            with suppress(OSError):  # what came first is what is told
                temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """The same for text, in UTF-8 and with line ends as they are."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: dict[str, Any]) -> None:
    """The same for an object; a number that JSON does not know is a mistake of ours."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def make_folder(path: Path) -> None:
    """A folder that may exist already."""
    with storing(path):
        path.mkdir(parents=True, exist_ok=True)


def move_folder(folder: Path, to: Path) -> None:
    """Give a folder its final name, in one step that survives a crash."""
    with storing(to):
        folder.rename(to)
        sync_folder(to.parent)


def remove_folder(folder: Path) -> None:
    """Delete a folder. It is renamed first, so that a half-deleted one is not taken for a whole one."""
    with storing(folder):
        doomed = folder.with_name(f".{folder.name}.deleted")
        _delete(doomed)
        folder.rename(doomed)
        _delete(doomed)


def sweep(folder: Path) -> None:
    """Delete what processes that died in the functions above left in a folder and right below it. Only for those who
    have the folder to themselves."""
    with storing(folder):
        for path in [*folder.glob(".*"), *folder.glob("*/.*")]:
            if LEFT.fullmatch(path.name) and not path.parent.is_symlink():  # nothing outside
                _delete(path)


def _delete(path: Path) -> None:
    """Whatever is there, if anything is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make what was renamed in a folder durable."""
    if os.name == "nt":  # no such thing there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
