"""The interface through which a run reports its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from ebmkit.engine.folder.record import Record

#: The number of steps done, and a short text.
Position: TypeAlias = Callable[[], tuple[int, str]]


class Progress(Protocol):
    """Receives the progress of a run. None of the methods is called in every step."""

    def begin(self, folder: Path) -> None:
        """The folder of the run exists."""

    def say(self, line: str) -> None:
        """Print a line."""

    def follow(self, what: str, steps: int, position: Position) -> None:
        """Work of this many steps begins; `position` can be called at any time and from any thread."""

    def pace(self, line: str) -> None:
        """A line after each tenth of the training, for displays without a bar."""

    def wait(self, for_what: str) -> None:
        """Work of unknown duration begins."""

    def leave(self, line: str) -> None:
        """The run stops before its end; the line says how to resume it and must be visible."""

    def finished(self, record: Record) -> None:
        """The run is finished and saved."""


class Silent:
    """Shows nothing."""

    def begin(self, folder: Path) -> None: ...

    def say(self, line: str) -> None: ...

    def follow(self, what: str, steps: int, position: Position) -> None: ...

    def pace(self, line: str) -> None: ...

    def wait(self, for_what: str) -> None: ...

    def leave(self, line: str) -> None: ...

    def finished(self, record: Record) -> None: ...
