"""What a plugin prints while it is imported: shown on stderr, escaped, and not without end."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from ebmkit.errors.printable import printable

#: Maximum number of bytes that are shown of one plugin.
MOST = 10_000


@contextmanager
def output_on_stderr() -> Iterator[None]:
    """Both streams on stderr: stdout belongs to the verb, and may be read by a program."""
    shown: Any = _Shown(sys.stderr)
    stream = io.TextIOWrapper(shown, encoding="utf-8", errors="backslashreplace", write_through=True)
    with redirect_stdout(stream), redirect_stderr(stream):
        yield


class _Shown(io.BufferedIOBase):
    """Bytes that are shown as text on another stream. A plugin may keep it, for example in a handler of its log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._left = MOST

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, data: Any) -> int:
        text = bytes(data[: self._left]).decode("utf-8", "backslashreplace")
        self._stream.write(printable(text, "\n\t"))
        if self._left and len(data) > self._left:
            self._stream.write("\n... (more output of this plugin is not shown)\n")
        self._left = max(0, self._left - len(data))
        return len(data)
