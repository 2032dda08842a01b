"""Checks the parameters of a plugin's component: types that a spec can write, and defaults that it may write."""

from __future__ import annotations

import dataclasses
import json
import math
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ebmkit.contracts.component import STRICT, Component
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.registry.reference import default_of, plain_default

_PLAIN = (int, float, str, bool, type(None), dict, Any)


def parameter_trouble(cls: type[Component]) -> str:
    """What is wrong with the parameters of a component; empty if nothing."""
    hints = get_type_hints(cls, include_extras=True)
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # a component is a dataclass
        what = f"the parameter '{field.name}' of {cls.__qualname__}"
        if odd := _unsupported(hints[field.name]):
            return f"{what} has the type {odd}, which a spec cannot write"
        try:
            if (default := default_of(field)) is not dataclasses.MISSING:
                defaults[field.name] = plain_default(default)
        except Exception as error:
            return f"the default of {what} cannot be used: {describe_error(error)}"
        if not _finite(defaults.get(field.name)):
            return f"the default of {what} is not finite, so a spec cannot write it"
    return _wrong_default(cls, hints, defaults)


def _unsupported(hint: Any, around: tuple[Any, ...] = ()) -> str:
    """The part of an annotation that no value of a spec can have; empty if there is none."""
    origin, arguments = get_origin(hint), get_args(hint)
    if any(hint is plain for plain in _PLAIN):
        return ""
    if origin is Annotated:
        return _unsupported(arguments[0], around)
    if origin in (Union, UnionType, tuple, list):
        return next((odd for each in arguments if each is not Ellipsis and (odd := _unsupported(each, around))), "")
    if origin is dict:
        return _unsupported(arguments[1], around) if arguments[0] is str else "dict with keys that are not strings"
    if origin is Literal:
        choices = [choice for choice in arguments if type(choice) not in (str, int, bool, type(None))]
        return f"Literal of {type_name(choices[0])}" if choices else ""
    if isinstance(hint, type) and issubclass(hint, Component):
        return ""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint not in around:  # a section
        inner = get_type_hints(hint, include_extras=True)
        fields = (inner[field.name] for field in dataclasses.fields(hint))
        return next((odd for each in fields if (odd := _unsupported(each, (*around, hint)))), "")
    return hint.__qualname__ if type(hint) is type else type_name(hint)


def _finite(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(map(_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


class _AnyComponent:
    """Stands in for the checker of a spec: a default that is a component was checked when it was created."""

    def check_component(self, kind: str, value: Any) -> object:
        return value


def _wrong_default(cls: type[Component], hints: dict[str, Any], defaults: dict[str, Any]) -> str:
    """A default that the spec itself could not set: `resolved.yaml` writes every default, and must be a valid spec."""
    fields = [(name, hints[name], dataclasses.field(default=None)) for name in defaults]
    given: Any = dataclasses.make_dataclass("Defaults", fields, kw_only=True, eq=False, repr=False)
    given.__pydantic_config__ = STRICT
    try:
        TypeAdapter(given).validate_json(json.dumps(defaults), context=_AnyComponent())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"the default of the parameter '{first['loc'][0]}' of {cls.__qualname__} is not allowed: {first['msg']}"
    return ""
