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
    """All leaves that differ, also those of a mapping that only one tree has. Lists of equal length, and lists of
    mappings, are compared entry by entry."""
    one, other = _branches(before, after), _branches(after, before)
    if one is None and other is None:
        if before != after:
            yield Difference(path, before, after)
        return
    if one is None or other is None:
        if before not in (None, ABSENT) and after not in (None, ABSENT):  # a value in place of a mapping
            yield Difference(path, before if one is None else ABSENT, after if other is None else ABSENT)
        one, other = one or {}, other or {}
    for key in [*one, *(key for key in other if key not in one)]:
        yield from differences(one.get(key, ABSENT), other.get(key, ABSENT), (*path, key))


def _branches(value: Any, counterpart: Any) -> dict[Any, Any] | None:
    """The entries below a value, or None for a leaf: an empty mapping, or a list that is shown whole."""
    if isinstance(value, dict):
        return value if value or isinstance(counterpart, dict) else None
    if isinstance(value, list):
        others = counterpart if isinstance(counterpart, list) else None
        alike = others is not None and len(value) == len(others)
        if alike or any(isinstance(entry, dict) for entry in [*value, *(others or ())]):
            return dict(enumerate(value))
    return None


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else text[:57] + "..."
