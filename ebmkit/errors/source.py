"""Sources and places in them, so that every value of a spec can be traced to where it was written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from ebmkit.errors.printable import printable

#: Line endings of YAML 1.2; the parser counts lines by the same rule.
_LINE_END = re.compile("\r\n?|\n")

#: Path to a value in a spec: `("objective", "sampler", "steps")`, `("evaluate", 0)`.
Path: TypeAlias = tuple[str | int, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def dotted(path: Path) -> str:
    """A path as a flag writes it: `objective.sampler.steps`, `evaluate[0]`."""
    return "".join(f".{step}" if _NAME.match(str(step)) else f"[{step!r}]" for step in path).removeprefix(".")


@dataclass(frozen=True)
class Source:
    """A text that a spec is read from: a file, or a flag such as `--set[1]`."""

    name: str
    text: str = field(repr=False)
    #: What messages call every place in it, if the text was made from Python objects and its author never saw it.
    shown: str = field(default="", compare=False)

    @cached_property
    def lines(self) -> list[str]:
        return _LINE_END.split(self.text)

    def line(self, number: int) -> str:
        """The line with this number, counted from 1; empty past the end."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

    def place_after(self, before: str) -> Place:
        """The place directly after `before`, a prefix of this text."""
        lines = Source("", before).lines
        return Place(self, len(lines), len(lines[-1]) + 1)


@dataclass(frozen=True)
class Place:
    """A span within one line; line and column are counted from 1, as in editors."""

    source: Source
    line: int
    column: int
    length: int = 1
    #: The path of a value in a dictionary, by which messages name it.
    path: str = field(default="", compare=False)

    @property
    def has_line(self) -> bool:
        """Whether the author of the spec wrote this line. A place in a dictionary is known by its path only."""
        return not self.source.shown

    def __str__(self) -> str:
        if not self.has_line:
            return printable(self.path or self.source.shown, "")
        return f"{printable(self.source.name, '')}:{self.line}:{self.column}"
