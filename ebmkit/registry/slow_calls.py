"""Naming the code of a plugin that does not end: nothing can stop it in this process, but the user can."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds after which a call is mentioned; and again after twice this time, four times, ...
SECONDS = 30.0


class SlowCalls:
    """Mentions calls that take long, from a thread of its own. A call that ends soon costs two assignments."""

    def __init__(self, say: Callable[[str], None], advice: str) -> None:
        self._say, self._advice = say, advice
        self._what, self._since = "", 0.0
        self._stop = threading.Event()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within this context calls are watched."""
        thread = threading.Thread(target=self._watch, name="ebmkit-slow-calls", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def begin(self, what: str) -> None:
        """A call begins, which messages call `what`."""
        self._since = time.monotonic()
        self._what = what

    def end(self) -> None:
        """The call has ended."""
        self._what = ""

    def _watch(self) -> None:
        mentioned, due = 0.0, SECONDS
        while not self._stop.wait(min(SECONDS / 5, 1.0)):
            what, since = self._what, self._since
            if since != mentioned:
                due = SECONDS
            elapsed = time.monotonic() - since
            if what and elapsed >= due:
                mentioned, due = since, 2 * due
                self._say(f"{what} has been running for {elapsed:.0f} s; {self._advice}")
