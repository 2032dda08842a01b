"""Writing plain data as YAML that ebmkit reads back unchanged, with a comment after every value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from ebmkit.errors.printable import printable
from ebmkit.errors.source import Path
from ebmkit.language.text import plain_scalar

_PLAIN = re.compile(r"[A-Za-z_$/][A-Za-z0-9_./$-]*\Z")


class _Notes(NamedTuple):
    """The comments after values, and the values that are themselves comments, by path."""

    comments: Mapping[Path, str]
    shown: Set[Path]


def yaml_text(tree: Mapping[str, Any], comments: Mapping[Path, str], shown: Set[Path] = frozenset()) -> str:
    """YAML text. `comments` maps the path of a value to the comment after it.

    Values of mappings at the paths in `shown` are only shown, as comments: a reader of the text derives them again.
    """
    # Comments contain file names, which may contain any character.
    harmless = {path: printable(words, "") for path, words in comments.items()}
    lines = list(_mapping(tree, (), _Notes(harmless, shown), ""))
    width = min(max((len(text) for text, comment in lines if comment), default=0), 60)
    return "".join(f"{text:<{width}}  # {comment}\n" if comment else f"{text}\n" for text, comment in lines)


def _mapping(tree: Mapping[str, Any], path: Path, notes: _Notes, indent: str) -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        mark = "# " if (*path, key) in notes.shown else ""
        yield from _entry(f"{indent}{mark}{scalar(key)}:", value, (*path, key), notes, indent + "  ")


def _entry(start: str, value: Any, path: Path, notes: _Notes, indent: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        yield start, ""
        yield from _mapping(value, path, notes, indent)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        yield start, ""
        for position, item in enumerate(value):
            yield from _item(item, (*path, position), notes, indent)
    elif isinstance(value, list):
        inside = ", ".join(scalar(item) for item in value)
        yield f"{start} [{inside}]", notes.comments.get(path) or notes.comments.get((*path, 0), "")
    else:
        yield f"{start} {scalar(value)}", notes.comments.get(path, "")


def _item(value: Any, path: Path, notes: _Notes, indent: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        lines = list(_mapping(value, path, notes, indent + "  "))
        first, comment = lines[0]
        yield f"{indent}- {first.lstrip()}", comment
        yield from lines[1:]
    else:
        yield from _entry(f"{indent}-", value, path, notes, indent + "  ")


def scalar(value: Any) -> str:
    """One value as YAML; strings are quoted wherever a parser could read them as another type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value - value != 0:
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}[str(value)]
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {scalar(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(scalar(item) for item in value) + "]"
    if isinstance(value, str):
        return value if _PLAIN.match(value) and plain_scalar(value) == value else json.dumps(value)
    return repr(value)
