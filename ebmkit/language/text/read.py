"""Reading the text of a spec, with limits on what is read."""

from __future__ import annotations

import os
import stat
import sys

from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import NotText, TooLarge, Unreadable

MAX_BYTES = 256 * 1024


def read(path: str) -> Source:
    """The text of a file, which must be a regular UTF-8 file of limited size; `-` is standard input."""
    if path == "-":
        if sys.stdin is None:
            raise Unreadable("standard input is closed", _start("<stdin>"))
        return _decode("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))
    try:
        # Non-blocking, because opening a pipe without a writer would wait forever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unreadable(f"cannot read {path!r}: {reason}", _start(path)) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise Unreadable(f"cannot read {path!r}: it is {what}", _start(path))
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MAX_BYTES:
            raise TooLarge(f"{path!r} has {status.st_size:,} bytes; a spec has at most {MAX_BYTES:,}", _start(path))
        return _decode(path, file.read(MAX_BYTES + 1))


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
