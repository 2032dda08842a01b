"""The parameters of a component or section as JSON Schema."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter

from ebmkit.contracts.component import Component
from ebmkit.registry.reference import page


def parameter_schema(cls: type[Any]) -> dict[str, Any]:
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
        if not parameter.required and parameter.default not in (None, []):
            entry["default"] = parameter.default
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
        return parameter_schema(definition) if isinstance(definition, type) else _tidy(definition, definitions)
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
