"""Formatting of mistakes: as text in the style of rustc, as JSON, and as GitHub annotations."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ebmkit.errors.base import MOST, EbmkitError
from ebmkit.errors.printable import printable
from ebmkit.errors.source import Place

_RED, _BLUE, _BOLD, _RESET = "\x1b[1;31m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"
_WIDEST = 160


def render(mistakes: Sequence[EbmkitError], form: str, *, colour: bool = False) -> str:
    """Format all mistakes as `text`, `json` or `github`."""
    return _FORMS[form](mistakes, colour)


def _text(mistakes: Sequence[EbmkitError], colour: bool) -> str:
    paint = _paint if colour else _plain
    blocks = ["\n".join(_lines(mistake, paint)) for mistake in mistakes]
    if len(mistakes) > 1:
        blocks.append(paint(_BOLD, f"{len(mistakes)} errors{', and maybe more' if len(mistakes) >= MOST else ''}"))
    blocks.append(f"for details: ebmkit explain {mistakes[0].code}")
    return "\n\n".join(blocks)


def _lines(mistake: EbmkitError, paint: Callable[[str, str], str]) -> Iterable[str]:
    message = mistake.message.replace("\n", "\n    ")  # quoted text must not look like an error line
    yield paint(_RED, f"error[{mistake.code}]") + paint(_BOLD, f": {message}")
    width = max((len(str(place.line)) for place in (mistake.place, mistake.other) if place), default=1)
    if mistake.place:
        yield from _excerpt(mistake.place, mistake.label, "-->", "^", width, paint)
    if mistake.other:
        yield from _excerpt(mistake.other, mistake.other_label, ":::", "-", width, paint)
    notes = [mistake.help] if mistake.place else [mistake.label, mistake.help]
    for note in filter(None, notes):
        yield " " * width + paint(_BLUE, " = ") + paint(_BOLD, "help: ") + note.replace("\n", "\n    ")


def _excerpt(
    place: Place, label: str, arrow: str, mark: str, width: int, paint: Callable[[str, str], str]
) -> Iterable[str]:
    if not place.has_line:
        yield " " * width + paint(_BLUE, arrow) + f" {place}" + (f": {printable(label, '')}" if label else "")
        return
    yield " " * width + paint(_BLUE, arrow) + f" {place}"
    line = place.source.line(place.line)
    if not line.strip():
        return
    start, length = place.column - 1, place.length
    if len(line) > _WIDEST:  # keep the text around the mark
        cut = max(0, start - _WIDEST // 2)
        line, start = "..." + line[cut : cut + _WIDEST], start - cut + 3
    bar = paint(_BLUE, "|")
    # An untrusted file must not control the terminal. Escapes are longer than what they stand for.
    before, marked, rest = (
        printable(part, "\t") for part in (line[:start], line[start : start + length], line[start + length :])
    )
    pad = "".join("\t" if letter == "\t" else " " * _columns(letter) for letter in before)
    marks, label = mark * max(1, sum(_columns(letter) for letter in marked)), printable(label, "")
    yield paint(_BLUE, f"{place.line:>{width}} ") + bar + f" {before}{marked}{rest}"
    yield " " * width + f" {bar} {pad}" + paint(_RED if mark == "^" else _BLUE, f"{marks} {label}".rstrip())


def _columns(letter: str) -> int:
    """Number of terminal columns that a character occupies."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _json(mistakes: Sequence[EbmkitError], colour: bool) -> str:
    def place(where: Place | None) -> dict[str, Any] | None:
        if where is None:
            return None
        if not where.has_line:
            return {"path": str(where)}
        return {"file": where.source.name, "line": where.line, "column": where.column, "length": where.length}

    return json.dumps(
        [
            {
                "code": mistake.code,
                "message": mistake.message,
                "place": place(mistake.place),
                "label": mistake.label,
                "other": place(mistake.other),
                "other_label": mistake.other_label,
                "help": mistake.help,
                "exit_status": mistake.exit_status,
            }
            for mistake in mistakes
        ],
        indent=2,
    )


def _github(mistakes: Sequence[EbmkitError], colour: bool) -> str:
    def escape(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def line(mistake: EbmkitError) -> str:
        place = mistake.place if mistake.place and mistake.place.has_line else None
        file = escape(printable(place.source.name, "")).replace(":", "%3A").replace(",", "%2C") if place else ""
        where = f" file={file},line={place.line},col={place.column}," if place else " "
        words = " ".join(filter(None, [mistake.message, f"({mistake.label})" if mistake.label else "", mistake.help]))
        return f"::error{where}title={mistake.code}::{escape(words)}"

    return "\n".join(line(mistake) for mistake in mistakes)


def _plain(style: str, text: str) -> str:
    return text


def _paint(style: str, text: str) -> str:
    return f"{style}{text}{_RESET}"


_FORMS: dict[str, Callable[[Sequence[EbmkitError], bool], str]] = {"text": _text, "json": _json, "github": _github}
