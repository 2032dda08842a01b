"""Names in .npz files: of columns, and of classes, as ebmkit exports them."""

from __future__ import annotations

import ast
import zipfile
from typing import IO, cast

from ebmkit.components.data.headers import NPY_TEXT, LimitedFile, npz_member, opened


def npz_names(path: str, name: str, count: int | None = None) -> tuple[str, ...] | None:
    """The strings of a flat array in a .npz file; None if it has no such array of strings, or of another length.

    They are decoded here, so that a spec is checked without numpy.
    """
    with opened(path) as file:
        limited = cast("IO[bytes]", LimitedFile(file))
        if f"{name}.npy" not in zipfile.ZipFile(limited).namelist():
            return None
        with npz_member(limited, name) as (member, size):
            return _strings(member.read(size), count)


def _strings(content: bytes, count: int | None) -> tuple[str, ...] | None:
    """The strings of an array that numpy wrote: each of the same length in UTF-32, padded with zeros."""
    width = 2 if content[6:7] == b"\1" else 4
    length = int.from_bytes(content[8 : 8 + width], "little")
    if content[:6] != b"\x93NUMPY" or length > NPY_TEXT:
        return None
    try:
        described = ast.literal_eval(content[8 + width : 8 + width + length].decode())
        descr, (rows,) = str(described["descr"]), described["shape"]
        if descr[:2] != "<U" or count not in (None, rows):
            return None
        size, numbers = 4 * int(descr[2:]), content[8 + width + length :]
        found = [numbers[row * size : (row + 1) * size].decode("utf-32-le").rstrip("\0") for row in range(rows)]
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return None
    return tuple(found) if len(numbers) == rows * size else None
