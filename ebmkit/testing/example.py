"""An instance of any component: with its defaults, or from the example in its docstring."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from typing import Any

from pydantic import TypeAdapter
from ruamel.yaml import YAML

from ebmkit.contracts.component import Component
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry


def instance(cls: type[Component], registry: Registry | None = None) -> Component:
    """The component with its defaults, or if a parameter has none, as in its example."""
    required = [
        field.name
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]  # every component is a dataclass
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    return from_example(cls, registry) if required else cls()


def from_example(cls: type[Component], registry: Registry | None = None) -> Component:
    """The component as written in the example of its docstring, checked like a spec."""
    parameters = _uses(example_fragment(cls), cls.component_name)
    if parameters is None:
        raise ValueError(f"{cls.__qualname__}: its example must use '{cls.component_name}'")
    return _Maker(registry or Registry(Plugins())).make(cls, parameters)


def example_fragment(cls: type[Component]) -> dict[str, Any]:
    """The line after `Example:` as plain data: one section of a spec."""
    found = re.search(r"^Example: (.+)$", inspect.getdoc(cls) or "", re.MULTILINE)
    if found is None:
        raise ValueError(f"{cls.__qualname__}: its docstring needs a line 'Example: ...'")
    fragment: dict[str, Any] = YAML(typ="safe").load(found[1])
    return fragment


def _uses(node: Any, name: str) -> dict[str, Any] | None:
    """The parameters next to `use: name`, at any depth. The name of a plugin component starts with its namespace."""
    if isinstance(node, str):
        return {} if node.rpartition(".")[2] == name else None
    if isinstance(node, dict) and str(node.get("use")).rpartition(".")[2] == name:
        return {key: value for key, value in node.items() if key != "use"}
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((found for value in inner if (found := _uses(value, name)) is not None), None)


class _Maker:
    """Called by pydantic if an annotation names a kind, as when a spec is checked."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def make(self, cls: type[Component], parameters: dict[str, Any]) -> Component:
        return TypeAdapter(cls).validate_json(json.dumps(parameters), context=self)

    def check_component(self, kind: str, value: Any) -> Component:
        parameters = {"use": value} if isinstance(value, str) else dict(value)
        return self.make(self.registry.find(kind, parameters.pop("use")), parameters)
