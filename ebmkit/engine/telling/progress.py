"""What somebody who watches a run is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from ebmkit.engine.folder.record import Record

#: How many steps are done, and a word about them.
Position: TypeAlias = Callable[[], tuple[int, str]]


class Progress(Protocol):
    """Somebody who watches. Nothing here is called once per step."""

    def begin(self, folder: Path) -> None:
        """The run has a folder."""

    def say(self, line: str) -> None:
        """A line worth reading."""

    def follow(self, what: str, steps: int, position: Position) -> None:
        """Something of so many steps begins; `position` may be asked at any time and from any thread."""

    def pace(self, line: str) -> None:
        """A tenth of the training is done: for those who have no bar."""

    def wait(self, for_what: str) -> None:
        """Something slow begins whose end cannot be foreseen."""

    def leave(self, line: str) -> None:
        """The run is left before its end; the line tells how to go on, so nobody should miss it."""

    def finished(self, record: Record) -> None:
        """All is saved."""


class Silent:
    """Nobody watches."""

    def begin(self, folder: Path) -> None: ...

    def say(self, line: str) -> None: ...

    def follow(self, what: str, steps: int, position: Position) -> None: ...

    def pace(self, line: str) -> None: ...

    def wait(self, for_what: str) -> None: ...

    def leave(self, line: str) -> None: ...

    def finished(self, record: Record) -> None: ...
