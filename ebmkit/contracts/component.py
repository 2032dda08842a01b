"""The base of all components: a frozen dataclass whose fields are the parameters that a spec may set."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, dataclass_transform

from ebmkit.errors.describe import describe_error

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from ebmkit.contracts.question import Question
    from ebmkit.contracts.setting import Setting

#: The name of a component, and of a namespace.
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")

#: For pydantic: a string is not a number, 10.0 is not an integer, no unknown keys, no implicit infinity.
STRICT: dict[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


class Component:
    """The base class of all kinds. Authors subclass a kind (`Sampler`, `Bregman`, ...), never this class.

    A component holds parameters and mathematics. State, device and randomness are passed to its methods and returned as
    results, so one instance can serve any number of runs.
    """

    component_kind: ClassVar[str]
    component_name: ClassVar[str]
    component_revision: ClassVar[int]
    #: Optional packages that it imports, each with the requirement that installs it: {"zuko": "ebmkit-core[flows]"}.
    #: A run without them is refused before its folder is created.
    needs_packages: ClassVar[Mapping[str, str]] = MappingProxyType({})

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    def prepare(self, setting: Setting) -> None:
        """Check the parameters against the setting of the run, once, before training; a ValueError refuses them."""

    def refusal(self, question: Question) -> str | None:
        """Why it cannot be used in this experiment, in words that follow its name; None if it can."""
        return None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """An annotation with a kind means "any component of that kind": the checker of the spec looks it up."""
        from pydantic_core import core_schema

        if is_kind(cls):
            return core_schema.with_info_plain_validator_function(
                lambda value, info: info.context.check_component(cls.component_kind, value),
            )
        return handler(source)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        if is_kind(cls):
            return {"ebmkit_kind": cls.component_kind}  # replaced by a reference in `ebmkit.language.schema`
        described: dict[str, Any] = handler(schema)
        return described


def is_kind(cls: type) -> bool:
    """True for a kind itself, False for a component."""
    return "component_kind" in cls.__dict__


#: Methods that would run whenever a component is only looked at, also by code that has nothing to do with it.
_RESERVED = ("__getattribute__", "__getattr__", "__bool__", "__len__", "__eq__", "__hash__", "__class__")


def _reserved(cls: type) -> str | None:
    """A reserved method that a class or a base defines. Dataclasses among the bases have an equality of their own."""
    for base in cls.__mro__[:-1]:
        generated = ("__eq__", "__hash__") if "__dataclass_fields__" in vars(base) else ()
        for name in _RESERVED:
            if name in vars(base) and name not in generated:
                return name
    return None


#: Whether a plugin is being imported.
_MARKING: ContextVar[bool] = ContextVar("marking", default=False)


@contextmanager
def mistakes_marked() -> Iterator[None]:
    """Within this context, `@component` writes what is wrong with a class to its attribute `component_trouble` and
    raises nothing: a mistake in one class of a plugin does not stop the others of the same file."""
    token = _MARKING.set(True)
    try:
        yield
    finally:
        _MARKING.reset(token)


C = TypeVar("C", bound=type[Any])


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def component(name: str, *, revision: int = 1) -> Callable[[C], C]:
    """Declare a class as the component `name` of the kind it subclasses.

    Increase `revision` when the same parameters give different numbers: it is part of the hash of every plan.
    """

    def declare(cls: C) -> C:
        try:
            return _declared(cls, name, revision)
        except Exception as error:
            if not _MARKING.get():
                raise
            type.__setattr__(cls, "component_trouble", (name, describe_error(error)))
            return cls

    return declare


def _declared(cls: C, name: str, revision: int) -> C:
    if not NAME.match(name):
        raise TypeError(
            f"component name {name!r}: use at most 64 lower-case letters, digits and underscores, "
            "starting with a letter"
        )
    if not (issubclass(cls, Component) and hasattr(cls, "component_kind")):
        raise TypeError(f"{cls.__qualname__} must subclass a kind (Model, Sampler, Bregman, ...)")
    if odd := _reserved(cls):
        raise TypeError(f"{cls.__qualname__} must not define {odd}: a component is compared and read as plain data")
    documented = cls.__doc__ is not None
    made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    if not documented:
        made.__doc__ = ""  # a dataclass would otherwise set it to its signature
    if "use" in made.__dataclass_fields__:
        raise TypeError(f"{cls.__qualname__}: the parameter name 'use' is reserved by the spec language")
    made.component_name = name
    made.component_revision = revision
    return cast(C, made)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def section(cls: C) -> C:
    """A part of a spec or component that has only one form and so needs no `use:`; checked as strictly."""
    made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    made.__pydantic_config__ = STRICT
    return cast(C, made)
