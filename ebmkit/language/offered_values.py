"""The values that may stand at a path of a spec, for completion in a shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def offered_values(schema: dict[str, Any], path: str) -> dict[str, str]:
    """The values at a path such as `objective.noise`, each with its description, by the schema of the language.

    The spec is not read: a parameter of a component is looked up in all components that may stand there. `evaluate+`
    means an entry to append.
    """
    keys = [*path.removesuffix("+").split("."), *(["+"] if path.endswith("+") else [])]
    nodes: list[Any] = [schema]
    for key in keys:
        nodes = [inner for node in nodes for inner in _inside(schema, node, key)]
    found: dict[str, str] = {}
    for node in nodes:
        for each in _alternatives(schema, node):
            for value in _values(each):
                found.setdefault(value, each.get("description", "") if "const" in each else "")
    return found


def _alternatives(schema: dict[str, Any], node: Any) -> Iterator[dict[str, Any]]:
    """A node and everything that may stand in its place."""
    if not isinstance(node, dict):
        return
    yield node
    reference = node.get("$ref", "").removeprefix("#/$defs/")
    more = [schema["$defs"][reference]] if reference else []
    for each in (*more, *node.get("anyOf", ()), *node.get("allOf", ()), node.get("then")):
        yield from _alternatives(schema, each)


def _inside(schema: dict[str, Any], node: Any, key: str) -> Iterator[Any]:
    """What may stand under a key, or a number in a list."""
    for each in _alternatives(schema, node):
        if "items" in each and (key == "+" or key.isdecimal()):
            yield each["items"]
        properties = each.get("properties", {})
        yield properties[key] if key in properties else each.get("additionalProperties")


def _values(node: dict[str, Any]) -> list[str]:
    listed = [node["const"]] if "const" in node else node.get("enum", [])
    switch = ["true", "false"] if node.get("type") == "boolean" else []
    return [value for value in listed if isinstance(value, str)] + switch
