"""The base classes of all errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ebmkit.errors.printable import printable
from ebmkit.errors.source import Place

#: Maximum length of a message in characters; longer ones are cut in the middle.
LONGEST = 400

#: Maximum number of mistakes reported at once; a hostile file could contain thousands.
MOST = 200


class EbmkitError(Exception):
    """One mistake and its place; where two things do not fit together, also the other place."""

    code: ClassVar[str]
    exit_status: ClassVar[int]

    def __init__(
        self,
        message: str,
        place: Place | None = None,
        *,
        label: str = "",
        other: Place | None = None,
        other_label: str = "",
        help: str = "",
    ) -> None:
        super().__init__(_presentable(message))
        self.message = _presentable(message)
        self.place = place
        self.label = _presentable(label)  # text after the caret
        self.other = other
        self.other_label = _presentable(other_label)
        self.help = _presentable(help)


def _presentable(words: str) -> str:
    """Text that quotes an untrusted file must not flood the terminal or control it."""
    if len(words) > LONGEST:
        words = f"{words[: LONGEST - 100]} ... {words[-100:]}"
    return printable(words)


class Mistakes(Exception):
    """All mistakes at once (the first `MOST`), file by file, in the order of their places."""

    def __init__(self, mistakes: Iterable[EbmkitError]) -> None:
        # A wrong value that is repeated by an alias is reported once, where it is written.
        once = {(m.code, m.place, m.message): m for m in mistakes}
        files = list(dict.fromkeys(m.place.source.name for m in once.values() if m.place))
        self.mistakes = sorted(once.values(), key=lambda mistake: _reading_order(mistake, files))[:MOST]
        super().__init__("\n".join(map(_line, self.mistakes)))

    @property
    def exit_status(self) -> int:
        """The lowest status: a wrong spec takes precedence over a missing plugin, since its author can correct it."""
        return min(mistake.exit_status for mistake in self.mistakes)


def _line(mistake: EbmkitError) -> str:
    """A mistake in one line, for programs and notebooks that print the exception."""
    label = f"({mistake.label})" if mistake.label else ""
    words = " ".join(filter(None, [str(mistake.place or ""), mistake.code, mistake.message, label]))
    return f"{words}; {mistake.help}" if mistake.help else words


def first_of(error: EbmkitError | Mistakes) -> EbmkitError:
    """The error itself, or the first of several."""
    return error.mistakes[0] if isinstance(error, Mistakes) else error


def _reading_order(mistake: EbmkitError, files: list[str]) -> tuple[int, int, int, str]:
    place = mistake.place
    if place is None:
        return (-1, 0, 0, mistake.code)
    return (files.index(place.source.name), place.line, place.column, mistake.code)
