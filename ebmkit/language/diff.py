"""Differences between two trees of plain data, such as specs or lockfiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ebmkit.errors.source import Path


class Absent:
    """Marks a value that is missing from one of the two trees."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


@dataclass(frozen=True)
class Difference:
    """Two different values at the same path."""

    path: Path
    before: Any
    after: Any

    @property
    def where(self) -> str:
        """The path in the notation of `--set`."""
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        return f"{self.where}: {_short(self.before)} -> {_short(self.after)}"


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:
    """All leaves that differ. Lists of equal length are compared entry by entry."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for position, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, (*path, position))
    elif before != after:
        yield Difference(path, before, after)


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else text[:57] + "..."
