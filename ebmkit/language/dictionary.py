"""A spec given as a Python dictionary, as the text that a file would have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ebmkit.errors.source import dotted
from ebmkit.errors.text import BadKey, NotASpec, TooLarge
from ebmkit.language.text import MAX_DEPTH
from ebmkit.language.yaml_writer import yaml_text


def dictionary_text(spec: Mapping[str, Any]) -> str:
    """YAML, so that mistakes in a dictionary have places too.

    Numbers and arrays of numpy and torch become plain numbers and lists, paths strings, other mappings dictionaries.
    Any other object is refused: its text would be a string where a number or a component was meant.
    """
    plain = _plain(spec, ())
    return yaml_text(plain, {}) if plain else "{}"


def _plain(value: Any, path: tuple[Any, ...]) -> Any:
    if len(path) > MAX_DEPTH:  # also a dictionary that contains itself
        raise TooLarge(f"the dictionary has more than {MAX_DEPTH} levels of nesting")
    if isinstance(value, Mapping):
        return {_key(key, path): _plain(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, (*path, position)) for position, item in enumerate(value)]
    for kind in (bool, int, float):  # a subclass, such as an enumeration or numpy's float64, has a text of its own
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if hasattr(value, "tolist"):  # numpy and torch, neither of which is imported here
        try:
            listed = value.tolist()
        except (NotImplementedError, RuntimeError, TypeError):  # sparse tensors, and those without numbers
            listed = value
        if type(listed) is not type(value):  # numpy's longdouble, which Python has no number for, stays as it is
            return _plain(listed, path)
    if value is not None:
        raise NotASpec(
            f"{_dotted(path)}: a value of type '{type(value).__name__}' cannot stand in a spec",
            help="use numbers, strings, lists, dictionaries, arrays or paths",
        )
    return None


def _key(key: Any, path: tuple[Any, ...]) -> str:
    if not isinstance(key, str):
        raise BadKey(f"{_dotted(path)}: key {key!r} is not a string")
    return str.__str__(key)


def _dotted(path: tuple[Any, ...]) -> str:
    return dotted(path) or "the dictionary"
