"""Checks a class before it is registered as a component. The built-in components pass the same checks."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from types import MappingProxyType
from typing import Any, Protocol, get_type_hints

from ebmkit.contracts.component import NAME, Component
from ebmkit.contracts.kinds import KINDS
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.registry.abilities import unknown_ability
from ebmkit.registry.spelling import nearest

#: Others could change what comparing, hashing or looking at a class does, for every verb that meets it.
_METACLASSES = (type, ABCMeta, type(Protocol))


def class_trouble(cls: Any) -> str:
    """What is wrong with a class to be registered; empty if nothing."""
    if not issubclass(type(cls), type):
        return f"an object of type {type_name(cls)} is not a component class"
    if type(cls) not in _METACLASSES:
        return f"a component class of the metaclass {type_name(cls)} is not supported"
    if "component_trouble" in vars(cls):  # found by `@component`
        return str(vars(cls)["component_trouble"][1])
    if not issubclass(cls, Component):
        return f"{cls.__qualname__} is not a component class"
    if trouble := _declaration_trouble(cls):
        return trouble
    if trouble := "; ".join(filter(None, [_missing_methods(cls), *_wrong_arguments(cls)])):
        return trouble
    if bare := _without_annotation(cls):
        words = f"write {bare}: type = ..., or {bare}: ClassVar[type] = ... for a constant"
        return f"{cls.__qualname__}.{bare} has no annotation, so it is not a parameter: {words}"
    try:
        get_type_hints(cls, include_extras=True)
    except Exception as error:
        return f"the annotations of {cls.__qualname__} cannot be read: {describe_error(error)}"
    needed: Any = cls.needs_packages
    if not (
        type(needed) in (dict, MappingProxyType) and all(type(word) is str for pair in needed.items() for word in pair)
    ):
        return f"needs_packages of {cls.__qualname__} must map packages to requirements: {{'zuko': 'zuko>=1.4'}}"
    return unknown_ability(cls)


def _declaration_trouble(cls: type[Component]) -> str:
    """Whether `@component(...)` declared it, as a component of one kind, and nothing was overwritten afterwards."""
    if "component_name" not in vars(cls) or "__dataclass_fields__" not in vars(cls):
        return f"{cls.__qualname__} lacks @component(...)"
    kinds = [kind for kind in KINDS.values() if kind in cls.__mro__]
    if len(kinds) > 1:
        return f"{cls.__qualname__} is of {len(kinds)} kinds: {', '.join(kind.component_kind for kind in kinds)}"
    if not kinds or cls.component_kind is not kinds[0].component_kind:
        return f"{cls.__qualname__} is of no known kind"
    if not (type(cls.component_name) is str and NAME.match(cls.component_name)):
        return f"{cls.__qualname__}.component_name was overwritten by something that is not the name of a component"
    if type(cls.component_revision) is not int:
        return f"{cls.__qualname__}: the revision must be an integer"
    if not vars(cls)["__dataclass_params__"].frozen:
        return f"{cls.__qualname__} is not frozen; declare it with @component(...) alone"
    return ""


def _missing_methods(cls: type[Component]) -> str:
    """The methods that it has to define and does not, and one whose name is probably misspelt."""
    if not inspect.isabstract(cls):
        return ""
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    kind = KINDS[cls.component_kind]
    own = [name for name, value in vars(cls).items() if inspect.isfunction(value) and not hasattr(kind, name)]
    meant = nearest(missing[0], [name for name in own if not name.startswith("_")])
    slip = f"; rename '{meant}' to '{missing[0]}' if that was meant" if meant else ""
    return f"{cls.__qualname__} does not implement {', '.join(missing)}{slip}"


def _wrong_arguments(cls: type[Component]) -> list[str]:
    """Its methods that cannot be called with the arguments of the contract."""
    found = []
    for name, promised in inspect.getmembers_static(KINDS[cls.component_kind], inspect.isfunction):
        written = inspect.getattr_static(cls, name)
        if name.startswith("_") or written is promised or not inspect.isfunction(written):
            continue
        wanted = _positional(promised)
        try:
            inspect.signature(written).bind(*wanted)
        except TypeError:
            has, needs = (", ".join(names[1:]) for names in (_positional(written), wanted))
            found.append(f"{cls.__qualname__}.{name}({has}) is called as {name}({needs})")
    return found


def _positional(function: Any) -> list[str]:
    """The names of arguments that are passed by position, `self` first."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _without_annotation(cls: type[Component]) -> str | None:
    """A class attribute that was probably meant as a parameter; those that the kind declares need no annotation."""
    kind = KINDS[cls.component_kind]
    # An annotation of the kind without a value (`count: int`) is not an attribute, but it is a declaration.
    annotated = {name for base in (cls, *kind.__mro__) for name in inspect.get_annotations(base)}
    for name, value in list(vars(cls).items()):
        plain = not (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
        declared = name in annotated or hasattr(kind, name) or name.startswith(("_", "component_"))
        if plain and not declared:
            return name
    return None
