"""A spec given as a Python dictionary, as the text that a file would have."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.errors.source import Source, dotted
from ebmkit.errors.text import BadKey, NotASpec, TooLarge
from ebmkit.language.enclosed import Enclosed
from ebmkit.language.text import MAX_DEPTH
from ebmkit.language.yaml_writer import yaml_text
from ebmkit.registry.energy_at_hand import is_network, weights_of
from ebmkit.registry.registry import Registry

#: What a value in a dictionary may be.
FORMS = "use numbers, strings, lists, dictionaries, arrays, paths or components"


def dictionary_source(spec: Mapping[str, Any], registry: Registry, enclosed: Enclosed) -> Source:
    """YAML, so that a run made from a dictionary has a spec that can be read. Places in it are paths, not lines.

    Numbers and arrays of numpy and torch become plain numbers and lists, paths strings, other mappings dictionaries;
    components, their classes and energies become names and parameters. Any other object is refused: its text would be a
    string where a number was meant.
    """
    plain = _Plain(registry, enclosed).spec(spec)
    return Source("<experiment>", yaml_text(plain, {}) if plain else "{}", shown="the dictionary")


class _Plain:
    """The conversion of one dictionary."""

    def __init__(self, registry: Registry, enclosed: Enclosed) -> None:
        self.registry = registry
        self.enclosed = enclosed
        #: Components that stand in several places are shared parts, by their identity.
        self.shared: dict[int, str] = {}
        self.parts: dict[str, Any] = {}

    def spec(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        counts = Counter(id(part) for part in _components(spec, 0))
        self.shared = {of: "" for of, count in counts.items() if count > 1}
        plain: dict[str, Any] = self.value(spec, ())
        if self.parts:
            plain["parts"] = {**(plain.get("parts") or {}), **self.parts}
        return plain

    def value(self, value: Any, path: tuple[Any, ...]) -> Any:
        if len(path) > MAX_DEPTH:  # also a dictionary that contains itself
            raise TooLarge(f"the dictionary has more than {MAX_DEPTH} levels of nesting")
        if isinstance(value, Mapping):
            return self.mapping(value, path)
        if isinstance(value, (list, tuple)):
            return [self.value(item, (*path, position)) for position, item in enumerate(value)]
        for kind in (bool, int, float):  # a subclass, such as an enumeration or numpy's float64, has a text of its own
            if isinstance(value, kind):
                return kind(value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
        if _is_object(value):
            return self.object(value, path)
        if hasattr(value, "tolist"):  # numpy and torch, neither of which is imported here
            if path == ("data",):
                what = f"'data' is a component, but an array of type '{type(value).__name__}' is given"
                raise NotASpec(what, help="pass points as an argument of their own: data=points")
            try:
                listed = value.tolist()
            except (NotImplementedError, RuntimeError, TypeError):  # sparse tensors, and those without numbers
                listed = value
            if type(listed) is not type(value):  # numpy's longdouble, which Python has no number for, stays as it is
                return self.value(listed, path)
        if value is not None:
            raise NotASpec(
                f"{dotted(path) or 'the dictionary'}: a value of type '{type(value).__name__}' cannot stand in a spec",
                help=f"pass an object: {value.__name__}(...)" if isinstance(value, type) else FORMS,
            )
        return None

    def mapping(self, value: Mapping[Any, Any], path: tuple[Any, ...]) -> dict[str, Any]:
        plain = {_key(key, path): item for key, item in value.items()}
        used: dict[str, Any] = {}
        if (use := plain.pop("use", None)) is not None:
            named = self.object(use, path) if _is_object(use) and not isinstance(use, Component) else use
            used = dict(named) if isinstance(named, dict) else {"use": self.value(named, (*path, "use"))}
        elif "use" in value:
            used = {"use": None}
        return {**used, **{key: self.value(item, (*path, key)) for key, item in plain.items()}}

    def object(self, value: Any, path: tuple[Any, ...]) -> Any:
        """A component, a component class or an energy."""
        if id(value) in self.shared:
            if not self.shared[id(value)]:
                name = f"{value.component_name}_{len(self.parts) + 1}"
                self.shared[id(value)], self.parts[name] = name, None
                self.parts[name] = self.component(value, ("parts", name))
            return f"${self.shared[id(value)]}"
        if isinstance(value, Component):
            return self.component(value, path)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self.fields(value, path)
        name = self.registry.name_of_object(value)
        if not is_network(value):
            return {"use": name}
        return {"use": name, "weights": self.enclosed.add("weights", ".safetensors", weights_of(value))}

    def component(self, value: Component, path: tuple[Any, ...]) -> dict[str, Any]:
        return {"use": self.registry.name_of_object(type(value)), **self.fields(value, path)}

    def fields(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        """The parameters of a component or section that differ from their defaults, which others may decide."""
        return {
            field.name: self.value(given, (*path, field.name))
            for field in dataclasses.fields(value)
            if not _is_default(given := getattr(value, field.name), field)
        }


def _is_object(value: Any) -> bool:
    """Whether this is an object that specs have a form for: a component, a section, a class or an energy."""
    if isinstance(value, type):
        return issubclass(value, Component)
    return isinstance(value, Component) or _is_section(value) or callable(value)


def _is_section(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and hasattr(type(value), "__pydantic_config__")


def _is_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    if field.default_factory is not dataclasses.MISSING:
        return bool(value == field.default_factory())
    same = field.default is value or (type(field.default) is type(value) and field.default == value)
    return bool(same)


def _components(value: Any, depth: int) -> Iterator[Component]:
    """The components in a dictionary, once for every place."""
    inside: list[Any] = []
    if isinstance(value, Component):
        yield value
    if isinstance(value, Component) or (_is_section(value) and not isinstance(value, type)):
        fields = dataclasses.fields(value)  # type: ignore[arg-type]
        inside = [given for f in fields if not _is_default(given := getattr(value, f.name), f)]
    elif isinstance(value, Mapping):
        inside = list(value.values())
    elif isinstance(value, (list, tuple)):
        inside = list(value)
    for each in inside if depth <= MAX_DEPTH else ():
        yield from _components(each, depth + 1)


def _key(key: Any, path: tuple[Any, ...]) -> str:
    if not isinstance(key, str):
        raise BadKey(f"{dotted(path) or 'the dictionary'}: key {key!r} is not a string")
    return str.__str__(key)
