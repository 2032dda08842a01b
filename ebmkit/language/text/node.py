"""A value with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ebmkit.errors.source import Place
from ebmkit.language.text.scalar import Scalar


@dataclass(frozen=True)
class Node:
    """A value, where it stands, and where its key stands."""

    value: Scalar | list[Node] | dict[str, Node]
    place: Place
    key: Place | None = None
    #: How many values this one holds and how deep they lie, itself included and with aliases expanded, as it was read.
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
        """The node at the end of a path, if every step leads somewhere."""
        node = self
        for key in path:
            step = node.follow([key])
            if step is node:
                return None
            node = step
        return node

    def follow(self, path: Sequence[str | int]) -> Node:
        """The node at the end of a path, or the last one on the way; steps that lead nowhere are passed over."""
        node = self
        for key in path:
            children = node.value
            if isinstance(children, dict):
                node = children.get(str(key), node)
            elif isinstance(children, list) and key in range(len(children)):
                node = children[int(key)]
        return node

    @property
    def head(self) -> Place:
        """Where a whole value is best pointed at: a component at its name, a block of lines at its key."""
        if isinstance(self.value, dict):
            if "use" in self.value:
                return self.value["use"].place
            if self.key:
                return self.key
        return self.place
