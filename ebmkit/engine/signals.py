"""Ctrl-C and SIGTERM, handled where a run can stop without losing anything."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

#: Ctrl-C, termination by the system, and a closed terminal.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

#: The progress bar hides the cursor.
SHOW_CURSOR = b"\x1b[?25h"


class Interrupted(KeyboardInterrupt):
    """A signal asks the run to stop. Not an `Exception`, so that components that catch those do not catch it."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(f"{signal.Signals(number).name} received")
        self.number = number


class Signals:
    """A context manager that handles the signals.

    During training and saving, a signal waits for `raise_if_received()`, which is called between two steps and inside
    chains. Within `anywhere()`, where nothing can be left half done, it raises at once. A second signal ends the
    process.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._at_once = True
        self._before: dict[int, Any] = {}

    def raise_if_received(self) -> None:
        """Raise `Interrupted` if a signal was received."""
        if self.received is not None:
            raise Interrupted(self.received)

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """Let a signal interrupt the code inside at once."""
        with self._during(at_once=True):
            self.raise_if_received()
            try:
                yield
            finally:
                self.raise_if_received()  # the exception may have been caught, or turned into another error

    @contextmanager
    def between_steps(self) -> Iterator[None]:
        """Let a signal wait for `raise_if_received()`."""
        with self._during(at_once=False):
            yield

    @contextmanager
    def _during(self, *, at_once: bool) -> Iterator[None]:
        before, self._at_once = self._at_once, at_once
        try:
            yield
        finally:
            self._at_once = before

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"\nstopped at once\n")
            os._exit(128 + number)
        self.received = number
        if self._at_once:
            raise Interrupted(number)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python handles signals only there
            wanted = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # as nohup does
            self._before = {number: signal.signal(number, self._handle) for number in wanted}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
