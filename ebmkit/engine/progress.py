"""What somebody who watches a run is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from ebmkit.record import Record


class Progress(Protocol):
    """Somebody who watches. Nothing here is called once per step."""

    def begin(self, folder: Path) -> None:
        """The run has a folder."""

    def say(self, line: str) -> None:
        """A line worth reading."""

    def train(self, steps: int, position: Callable[[], tuple[int, float]]) -> None:
        """Training begins; `position` gives the step and the last known loss, at any time and from any thread."""

    def pace(self, line: str) -> None:
        """A tenth of the training is done: for those who have no bar."""

    def wait(self, for_what: str) -> None:
        """Training is over or paused, and something slow begins."""

    def finished(self, record: Record) -> None:
        """All is saved."""


class Silent:
    """Nobody watches."""

    def begin(self, folder: Path) -> None: ...

    def say(self, line: str) -> None: ...

    def train(self, steps: int, position: Callable[[], tuple[int, float]]) -> None: ...

    def pace(self, line: str) -> None: ...

    def wait(self, for_what: str) -> None: ...

    def finished(self, record: Record) -> None: ...
