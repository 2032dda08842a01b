"""How much of a run one session may do."""

from __future__ import annotations

import time


class Paused(Exception):
    """The session has used up what it was given; the run goes on in another one."""


class Limit:
    """So many steps, or so many seconds, from now on."""

    def __init__(self, steps: int | None = None, seconds: float | None = None) -> None:
        self.steps = steps
        self._until = None if seconds is None else time.monotonic() + seconds
        self._left = steps

    def raise_if_reached(self) -> None:
        """Called behind every step; raises `Paused` behind the last one."""
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Paused(f"{self.steps} steps done in this session")
        if self._until is not None and time.monotonic() >= self._until:
            raise Paused("the time of this session is over")
