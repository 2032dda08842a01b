"""The laws of all components, of any kind."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import typing

from ebmkit.contracts.component import Component
from ebmkit.testing.case import Case
from ebmkit.testing.law import Law, require


def is_a_value(component: Component, case: Case) -> None:
    """Two components with the same parameters are equal, have the same hash, and are immutable."""
    twin = copy.copy(component)
    require(component == twin, "a copy is not equal to it")
    require(hash(component) == hash(twin), "a copy has a different hash")
    try:
        setattr(component, "anything", 1)  # noqa: B010, the forbidden assignment is the test
    except dataclasses.FrozenInstanceError:
        return
    raise AssertionError("an attribute could be set")


def has_readable_annotations(component: Component, case: Case) -> None:
    """The annotations of its parameters can be evaluated, which the check of a spec requires."""
    hints = typing.get_type_hints(type(component), include_extras=True)
    missing = {field.name for field in dataclasses.fields(component)} - hints.keys()  # type: ignore[arg-type]
    require(not missing, f"{', '.join(sorted(missing))} has no annotation")


def declares_its_parameters(component: Component, case: Case) -> None:
    """Every annotated value of a base class is a parameter too, which `@component` or `@dataclass` makes it."""
    fields = {field.name for field in dataclasses.fields(component)}  # type: ignore[arg-type]
    for base in type(component).__mro__:
        if not issubclass(base, Component) or base.__module__.startswith("ebmkit.contracts."):
            continue
        for name, hint in inspect.get_annotations(base).items():
            fixed = "ClassVar" in str(hint) or name not in vars(base)
            words = f"'{name}' of {base.__qualname__} is annotated, but is no parameter: decorate {base.__qualname__}"
            require(fixed or name in fields, f"{words} as a component too, or annotate it as ClassVar")


LAWS: tuple[Law, ...] = (is_a_value, has_readable_annotations, declares_its_parameters)
