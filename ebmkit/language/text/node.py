"""A node of the parsed tree: a value with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ebmkit.errors.source import Path, Place, dotted
from ebmkit.language.text.scalar import Scalar


@dataclass(frozen=True)
class Node:
    """A value, its place, and the place of its key."""

    value: Scalar | list[Node] | dict[str, Node]
    place: Place
    key: Place | None = None
    #: Number and depth of the values in this node as parsed, including itself, with aliases expanded.
    size: int = field(default=1, compare=False)
    depth: int = field(default=1, compare=False)

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {name: child.plain() for name, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: Sequence[str | int]) -> Node | None:
        """The node at the end of a path, or None if a step of the path does not exist."""
        node = self
        for key in path:
            step = node.follow([key])
            if step is node:
                return None
            node = step
        return node

    def follow(self, path: Sequence[str | int]) -> Node:
        """The node at the end of a path, or the last existing one before it; steps that do not exist are skipped."""
        node = self
        for key in path:
            children = node.value
            if isinstance(children, dict):
                node = children.get(str(key), node)
            elif isinstance(children, list) and key in range(len(children)):
                node = children[int(key)]
        return node

    def with_paths(self, path: Path = ()) -> Node:
        """The same tree with the path of every value in its place, for a spec that was given as a dictionary."""
        value: Scalar | list[Node] | dict[str, Node] = self.value
        if isinstance(value, dict):
            value = {name: child.with_paths((*path, name)) for name, child in value.items()}
        elif isinstance(value, list):
            value = [child.with_paths((*path, position)) for position, child in enumerate(value)]
        words = dotted(path)
        key = self.key and replace(self.key, path=words)
        return replace(self, value=value, place=replace(self.place, path=words), key=key)

    @property
    def head(self) -> Place:
        """The place that best represents a whole value: a component's name, the key of a block of lines."""
        if isinstance(self.value, dict):
            if "use" in self.value:
                return self.value["use"].place
            if self.key:
                return self.key
        return self.place
