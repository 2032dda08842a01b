"""All components of a spec, or of a component, with their paths."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.errors.source import Path


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Component]]:
    """All components of a spec with their paths. A shared component is yielded at every use, its parts only once."""
    return _walk(value, path, set())


def _walk(value: Any, path: Path, seen: set[int]) -> Iterator[tuple[Path, Component]]:
    if isinstance(value, Component) and path:
        yield path, value
    if dataclasses.is_dataclass(value):
        if id(value) in seen:  # nested shared parts would otherwise be visited exponentially often
            return
        seen.add(id(value))
        for field in dataclasses.fields(value):
            yield from _walk(getattr(value, field.name), (*path, field.name), seen)
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            yield from _walk(item, (*path, position), seen)
