"""Smaller specs with the same failure, for reports of tests."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]


def shrunk(spec: dict[str, Any], fails: Callable[[dict[str, Any]], bool], budget: int = 60) -> dict[str, Any]:
    """The spec without every key and item that the failure does not need, tried from the outside to the inside."""
    smallest, tried = spec, 0
    progress = True
    while progress:
        progress = False
        for path in list(_paths(smallest)):
            smaller = _without(smallest, path)
            if smaller is None or tried >= budget:
                continue
            tried += 1
            if fails(smaller):
                smallest, progress = smaller, True
    return smallest


def _paths(node: Any, path: Path = ()) -> Iterator[Path]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    items = list(inner)
    yield from ((*path, key) for key, _ in items if key not in ("use", "ebmkit", "name", "threads"))
    for key, value in items:
        yield from _paths(value, (*path, key))


def _without(spec: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """A copy without the value at a path; None if the path no longer exists."""
    copied = copy.deepcopy(spec)
    node: Any = copied
    try:
        for key in path[:-1]:
            node = node[key]
        del node[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return copied
