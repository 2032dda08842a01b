"""Annotations in words, for error messages and reference pages."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as at

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import noun
from ebmkit.registry.spelling import a

_PLAIN = {
    int: ("an integer", "integers"),
    float: ("a number", "numbers"),
    str: ("a string", "strings"),
    bool: ("true or false", "true or false"),
    type(None): ("null", "null"),
    dict: ("a mapping", "mappings"),
    Any: ("anything", "anything"),
}

_BOUNDS: list[tuple[type, Callable[[Any], str]]] = [
    (at.Gt, lambda bound: f"greater than {bound.gt}"),
    (at.Ge, lambda bound: f"at least {bound.ge}"),
    (at.Lt, lambda bound: f"less than {'2^63' if bound.lt == 2**63 else bound.lt}"),
    (at.Le, lambda bound: f"at most {bound.le}"),
    (at.MinLen, lambda bound: f"with at least {bound.min_length} entries" if bound.min_length > 1 else ""),
    (at.MaxLen, lambda bound: f"with at most {bound.max_length} entries"),
]


def words(hint: Any, *, plural: bool = False) -> str:
    """`Annotated[int, Ge(1)] | Literal["auto"]` -> `an integer, at least 1, or 'auto'`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        described = [item.description for item in arguments[1:] if getattr(item, "description", None)]
        if described:  # a pattern has a description
            return str(described[0])
        limits = " and ".join(bounds(arguments[1:]))
        each = "each " if plural and not limits.startswith("with") else ""
        base = words(arguments[0], plural=plural)
        if at.MinLen(1) in _flat(arguments[1:]):
            base = base.replace("list", "non-empty list", 1)
        return base + (f", {each}{limits}" if limits else "")
    if origin in (Union, types.UnionType):
        # Bounds contain commas; the last alternative is then separated by a comma as well.
        inner = [words(argument, plural=plural) for argument in arguments]
        return (", or " if any("," in each for each in inner) else " or ").join(inner)
    if origin is Literal:
        return " or ".join(f"'{choice}'" if isinstance(choice, str) else str(choice) for choice in arguments)
    if origin in (tuple, list):
        return _sequence(arguments, plural)
    if origin is dict:
        return f"{'mappings' if plural else 'a mapping'} of {words(arguments[1], plural=True)}"
    if isinstance(hint, type) and issubclass(hint, Component):
        one = noun(hint.component_kind)
        return f"{one}s" if plural else a(one)
    if hint in _PLAIN:
        return _PLAIN[hint][plural]
    return "mappings" if plural else "a mapping"  # a section


def bounds(metadata: tuple[Any, ...]) -> list[str]:
    """The limits of an annotation: `greater than 0`, `at most 1`."""
    said = [say(item) for item in _flat(metadata) for kind, say in _BOUNDS if isinstance(item, kind)]
    return [words for words in said if words]


def _flat(metadata: tuple[Any, ...]) -> list[Any]:
    """`Interval` and `Len` stand for several bounds."""
    return [part for item in metadata for part in (item if isinstance(item, at.GroupedMetadata) else [item])]


def _sequence(arguments: tuple[Any, ...], plural: bool) -> str:
    start = "lists" if plural else "a list"
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return f"{start} of {words(arguments[0], plural=True)}"
    if len(set(arguments)) == 1:
        return f"{start} of {len(arguments)} {words(arguments[0], plural=True)}"
    return f"{start} of " + " and ".join(words(argument) for argument in arguments)


def takes_any_length(hint: Any) -> bool:
    """True for `tuple[int, ...]` and the like, at the top or as one branch of a union."""
    return Ellipsis in get_args(hint) or any(takes_any_length(argument) for argument in get_args(hint))


def step_into(hint: Any, key: str | int) -> Any:
    """The annotation one step down a path, or None if there is no such step."""
    from dataclasses import is_dataclass
    from typing import get_type_hints

    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return step_into(arguments[0], key)
    if origin in (Union, types.UnionType):
        steps = [found for argument in arguments if (found := step_into(argument, key)) is not None]
        return reduce(or_, steps) if steps else None
    if origin in (tuple, list) and isinstance(key, int):
        if (len(arguments) == 2 and arguments[1] is Ellipsis) or len(arguments) == 1:
            return arguments[0]
        return arguments[key] if key < len(arguments) else None
    if origin is dict:
        return arguments[1]
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(key, str):
        return get_type_hints(hint, include_extras=True).get(key)
    return None
