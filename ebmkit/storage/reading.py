"""Reading whole files of untrusted folders, with limits."""

from __future__ import annotations

import os
from pathlib import Path

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import storing
from ebmkit.storage.expansion import check_sparse
from ebmkit.storage.memory import available_memory
from ebmkit.storage.regular import open_regular

#: Maximum number of bytes of a text that is shown.
MOST_TEXT = 1 << 20


def read_whole(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file. Links are not followed, since no run contains one.

    Raises `StorageFailed` if it cannot be read, has more than `most` bytes, or would not fit into memory: a file takes
    little space on disk if it is mostly empty.
    """
    with storing(path), open_regular(path, follow=False) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise StorageFailed(f"{path}: has {size:,} bytes, but at most {most:,} are read")
        if size > (free := available_memory()):
            raise StorageFailed(f"{path}: has {size:,} bytes, but only {free:,} bytes of memory are free")
        try:
            check_sparse(file.fileno())
        except ValueError as error:
            raise StorageFailed(f"{path}: {error}") from error
        return file.read()


def read_text(path: Path) -> str:
    """The text of such a file; bytes that are not UTF-8 are replaced."""
    return read_whole(path, MOST_TEXT).decode(errors="replace")
