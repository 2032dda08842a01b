"""The flags that change a spec: `--set path=value`, `--set path+=value`, `--unset path`."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace
from typing import Any

from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import BadFlag
from ebmkit.language import text
from ebmkit.language.text import Node
from ebmkit.registry.spelling import did_you_mean

_FLAG = re.compile(r"(?P<path>[^=+]*)(?P<sign>\+?=)(?P<value>.*)\Z", re.DOTALL)
#: One step of a path: a name or position after a dot, or a position in brackets.
_STEP = re.compile(r"(?:\A|\.)(?P<word>[A-Za-z_][A-Za-z0-9_-]*|[0-9]{1,6})|\[(?P<position>[0-9]{1,6})\]")


def set_value(root: Node, flag: Source) -> Node:
    """The tree with one value set, or appended to a list for `+=`."""
    parts = _FLAG.match(flag.text)
    if parts is None:
        raise BadFlag("a change must have the form path=value", Place(flag, 1, 1, max(len(flag.text), 1)))
    if not parts["value"].strip():
        raise BadFlag("no value after '='", Place(flag, 1, parts.end("sign")), help="--unset PATH removes a value")
    value = text.parse(flag, start=parts.start("value"))
    path = _segments(flag, parts["path"])
    if _word(path[0]) == "extends":
        raise BadFlag("'extends' cannot be set by a flag, because bases are read before the flags", path[0])
    return _assign(root, path, value, append=parts["sign"] == "+=")


def read_path(path: str, name: str) -> tuple[str | int, ...]:
    """The steps of a path given to the flag `name`."""
    words = [_word(place) for place in _segments(Source(name, path), path)]
    return tuple(int(word) if word.isdigit() else word for word in words)


def _segments(flag: Source, path: str) -> list[Place]:
    """The steps of a path, each as the place of its word."""
    places: list[Place] = []
    end = 0
    while end < len(path) or not places:
        step = _STEP.match(path, end)
        if step is None:
            bad = min(end + (path[end : end + 1] == "."), max(len(path) - 1, 0))
            help = "use names and list positions, as in objective.sampler.steps or evaluate[0].samples"
            raise BadFlag(f"'{path}' is not a path", Place(flag, 1, bad + 1), help=help)
        if len(places) == text.MAX_DEPTH:
            raise BadFlag(f"a path has at most {text.MAX_DEPTH} steps", Place(flag, 1, 1, len(path)))
        start, stop = step.span("word" if step["word"] else "position")
        places.append(Place(flag, 1, start + 1, stop - start))
        end = step.end()
    return places


def _word(place: Place) -> str:
    return place.source.text[place.column - 1 : place.column - 1 + place.length]


def _assign(node: Node | None, path: list[Place], value: Node, *, append: bool) -> Node:
    here, rest = path[0], path[1:]
    children = _children(node, here)

    def changed(child: Node | None) -> Node:
        if rest:
            return replace(_assign(child, rest, value, append=append), key=child.key if child else here)
        return replace(_appended(child, here, value) if append else value, key=here)

    if isinstance(children, list):
        position = _position(children, here)
        items = [changed(item) if index == position else item for index, item in enumerate(children)]
        return replace(node, value=items) if node else Node(items, here)
    name = _word(here)
    new = changed(children.get(name))
    if name == "use" and not rest and changes_use(children, {"use": new}):
        children = {}
    entries = {**children, name: new}
    return replace(node, value=entries) if node else Node(entries, here)


def changes_use(below: dict[str, Node], over: dict[str, Node]) -> bool:
    """True if `over` names another component, to which the old parameters do not apply."""
    return "use" in below and "use" in over and below["use"].value != over["use"].value


def _children(node: Node | None, here: Place) -> dict[str, Node] | list[Node]:
    """The children of a node on a path."""
    value = node.value if node else {}
    if isinstance(value, str) and value.startswith("$"):
        raise BadFlag(
            f"the value is the shared part '{value}'", here, help=f"set parts.{value[1:]}.{_word(here)} instead"
        )
    if isinstance(value, str) and node:
        value = {"use": replace(node, key=None)}
    if value is None:
        value = {}
    if not isinstance(value, (dict, list)):
        raise BadFlag(f"{text.show(value)} has no keys or items", here)
    if isinstance(value, dict) and _word(here).isdigit():
        raise BadFlag(f"'{_word(here)}' is a list position, but the value is not a list", here)
    return value


def _position(items: list[Node], here: Place) -> int:
    word = _word(here)
    if not word.isdigit() or int(word) >= len(items):
        raise BadFlag(f"there is no item '{word}'; the list has {len(items)} items, counted from 0", here)
    return int(word)


def _appended(child: Node | None, here: Place, value: Node) -> Node:
    if child is None or child.value is None:
        return Node([value], value.place)
    if not isinstance(child.value, list):
        raise BadFlag(f"cannot append to '{_word(here)}', which is not a list", here, help="use = instead of +=")
    return replace(child, value=[*child.value, value])


def unset_value(root: Node, flag: Source) -> Node:
    """The tree without one value."""
    return _removed(root, _segments(flag, flag.text))


def _removed(node: Node, path: list[Place]) -> Node:
    here, rest = path[0], path[1:]
    children: Any = copy(_children(node, here))
    key = _position(children, here) if isinstance(children, list) else _word(here)
    if isinstance(children, dict) and key not in children:
        raise BadFlag(f"the spec does not set '{key}' here", here, label=did_you_mean(str(key), children))
    if rest:
        children[key] = _removed(children[key], rest)
    else:
        del children[key]
    return replace(node, value=children)
