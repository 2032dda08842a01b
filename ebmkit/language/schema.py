"""The spec language as JSON Schema, for editors: completion of names, marks on misspelt parameters, documentation.

The structure is the one that yaml-language-server supports best: names as alternatives with their documentation, and
one if/then per component. With `oneOf` and constants, which pydantic would emit, it offers a single name only.
"""

from __future__ import annotations

import inspect
from typing import Any

from ebmkit.contracts.kinds import KINDS
from ebmkit.language.sections import Spec
from ebmkit.registry.parameter_schema import parameter_schema
from ebmkit.registry.registry import Entry, Registry

_REFERENCE = {"type": "string", "pattern": r"^\$[A-Za-z_]", "description": "A shared object, defined under `parts:`."}


def schema(registry: Registry) -> dict[str, Any]:
    """The schema of the language with all registered components."""
    root = parameter_schema(Spec)
    properties = root["properties"]
    properties["extends"] = {"type": "string", "description": "Another spec to build on: a path, or a packaged name."}
    properties["plugins"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": 'Plugins that the spec needs, as requirements: {alpha: "ebmkit-alpha>=0.2"}.',
    }
    properties["files"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Where the relative paths of a run were found; written into its resolved.yaml.",
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
    properties = {"use": True, **entry.description.schema["properties"]}
    return {
        "if": {"properties": {"use": {"const": entry.name}}, "required": ["use"]},
        "then": {"properties": properties, "additionalProperties": False},
    }
