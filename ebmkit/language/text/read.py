"""Reading the text of a spec, with limits on what is read."""

from __future__ import annotations

import os
import sys

from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import NotText, TooLarge, Unreadable
from ebmkit.storage.regular import open_regular

MAX_BYTES = 256 * 1024


def read(path: str) -> Source:
    """The text of a file, which must be a regular UTF-8 file of limited size; `-` is standard input."""
    if path == "-":
        if sys.stdin is None:
            raise Unreadable("standard input is closed", _start("<stdin>"))
        return _decode("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                raise TooLarge(f"{path!r} has {size:,} bytes; a spec has at most {MAX_BYTES:,}", _start(path))
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # also while it is read: not every regular file is one on a disk
        reason = getattr(error, "strerror", None) or str(error)
        raise Unreadable(f"cannot read {path!r}: {reason}", _start(path)) from error
    return _decode(path, content)


def _decode(name: str, raw: bytes) -> Source:
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"{name!r} has more than {MAX_BYTES:,} bytes", _start(name))
    try:
        return Source(name, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        place = Source(name, raw.decode("utf-8-sig", "replace")).place_after(before)
        raise NotText(f"byte 0x{raw[error.start]:02x} is not UTF-8", place, help="save the file as UTF-8") from error


def _start(name: str) -> Place:
    return Place(Source(name, ""), 1, 1)
