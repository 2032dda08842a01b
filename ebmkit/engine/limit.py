"""The limits of one session of a run."""

from __future__ import annotations

import time


class Paused(Exception):
    """The session has reached its limit; the run can be continued in another one."""


class Limit:
    """A maximum number of steps, or of seconds from now."""

    def __init__(self, steps: int | None = None, seconds: float | None = None) -> None:
        self.steps = steps
        self._until = None if seconds is None else time.monotonic() + seconds
        self._left = steps

    def raise_if_reached(self) -> None:
        """Called after every step; raises `Paused` after the last one."""
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Paused(f"{self.steps} steps done in this session")
        self.raise_if_late()

    def raise_if_late(self) -> None:
        """Raises `Paused` if the time is over; called after every step of long chains."""
        if self._until is not None and time.monotonic() >= self._until:
            raise Paused("the time limit (--max-time) is reached")
