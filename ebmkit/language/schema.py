"""The spec language as JSON Schema, for editors: completion of names, marks on misspelt parameters, documentation.

The structure is the one that yaml-language-server supports best: names as alternatives with their documentation, and
one if/then per component. With `oneOf` and constants, which pydantic would emit, it offers a single name only.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import KINDS
from ebmkit.language.reference import page, plain_default
from ebmkit.language.sections import Spec
from ebmkit.registry.registry import Entry, Registry

_REFERENCE = {"type": "string", "pattern": r"^\$[A-Za-z_]", "description": "A shared object, defined under `parts:`."}


def schema(registry: Registry) -> dict[str, Any]:
    """The schema of the language with all registered components."""
    root = _parameters(Spec)
    properties = root["properties"]
    properties["extends"] = {"type": "string", "description": "Another spec to build on: a path, or a packaged name."}
    properties["plugins"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": 'Plugins that the spec needs, as requirements: {alpha: "ebmkit-alpha>=0.2"}.',
    }
    properties["parts"] = {
        "type": "object",
        "additionalProperties": {"anyOf": [{"$ref": f"#/$defs/{kind}"} for kind in KINDS]},
        "description": "Shared objects, referred to as `$name`.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ebmkit spec",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "if": {"not": {"required": ["extends"]}},  # a spec that extends another may omit any key
        "then": {"required": ["ebmkit", "model"]},
        "$defs": {kind: _kind(kind, registry.entries(kind)) for kind in KINDS},
    }


def _kind(kind: str, entries: list[Entry]) -> dict[str, Any]:
    head = {"title": kind, "description": (inspect.getdoc(KINDS[kind]) or "").split("\n\n")[0]}
    if not entries:
        return head | {"anyOf": [_REFERENCE]}
    names = [{"const": entry.name, "title": entry.name, "description": entry.summary} for entry in entries]
    return head | {
        "anyOf": [*names, _REFERENCE, {"type": "object"}],
        "if": {"type": "object"},
        "then": {"properties": {"use": {"anyOf": names}}, "allOf": [_when(entry) for entry in entries]},
    }


def _when(entry: Entry) -> dict[str, Any]:
    described = _parameters(entry.cls)
    properties = {"use": True, **described["properties"]}
    return {
        "if": {"properties": {"use": {"const": entry.name}}, "required": ["use"]},
        "then": {"properties": properties, "additionalProperties": False},
    }


def _parameters(cls: type[Any]) -> dict[str, Any]:
    """pydantic's schema of a dataclass, with references resolved and documentation added."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a default that is a component cannot be written as JSON; added below
        raw = TypeAdapter(cls).json_schema()
    described: dict[str, Any] = _tidy(raw, raw.get("$defs", {}) | _sections(cls))
    meanings = {parameter.name: parameter for parameter in page(cls).parameters}
    for field in dataclasses.fields(cls):
        entry = described["properties"][field.name]
        parameter = meanings[field.name]
        if parameter.meaning:
            entry["description"] = parameter.meaning
        if not parameter.required and parameter.default not in (None, ()):
            entry["default"] = plain_default(parameter.default)
    return described


def _sections(cls: type[Any]) -> dict[str, type[Any]]:
    """The sections that a dataclass contains, by the names that pydantic gives them."""

    def mentioned(hint: Any) -> Iterator[type[Any]]:
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and not issubclass(hint, Component):
            yield hint
        for argument in get_args(hint):
            yield from mentioned(argument)

    hints = get_type_hints(cls, include_extras=True)
    return {section.__name__: section for field in dataclasses.fields(cls) for section in mentioned(hints[field.name])}


def _tidy(value: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_tidy(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        definition = definitions[value["$ref"].removeprefix("#/$defs/")]
        return _parameters(definition) if isinstance(definition, type) else _tidy(definition, definitions)
    if "ebmkit_kind" in value:
        return {"$ref": f"#/$defs/{value['ebmkit_kind']}"}
    if "anyOf" in value and {"type": "null"} in value["anyOf"] and len(value["anyOf"]) == 2:
        # `X or null`: editors would offer `null` first, which specs rarely need.
        (inner,) = [item for item in value["anyOf"] if item != {"type": "null"}]
        if "ebmkit_kind" in inner or "$ref" in inner:
            return _tidy(inner, definitions)
    dropped = ("title", "default", "$defs", "required")  # with `extends:` no key is required in a single file
    return {
        key: {name: _tidy(item, definitions) for name, item in inner.items()}
        if key == "properties"
        else _tidy(inner, definitions)
        for key, inner in value.items()
        if key not in dropped
    }
