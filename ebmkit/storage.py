"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ebmkit.errors.running import StorageFailed


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """What the system refuses becomes `StorageFailed` with the path in it."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"{error.filename or path}: {error.strerror or error}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Temporary file, fsync, rename, fsync of the folder: after a crash there is the old file or the new one."""
    with storing(path):
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
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


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


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # no such thing there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
