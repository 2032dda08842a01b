"""What every component is: a frozen dataclass whose fields are the parameters a spec may set."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from ebmkit.contracts.question import Question
    from ebmkit.contracts.setting import Setting

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")

#: For pydantic: a string is not a number, 10.0 is not a count, no unknown key, no silent infinity.
STRICT: dict[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


class Component:
    """The root of all kinds. An author subclasses a kind (`Sampler`, `Bregman`, ...), never this class.

    A component holds parameters and mathematics. State, device and randomness are handed to its methods and come back
    as results, so one instance can serve any number of runs.
    """

    component_kind: ClassVar[str]
    component_name: ClassVar[str]
    component_revision: ClassVar[int]

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    def prepare(self, setting: Setting) -> None:
        """Check the parameters against what the run is about, once, before training; a ValueError refuses them."""

    def refusal(self, question: Question) -> str | None:
        """Why it cannot work in this experiment, in words that follow its name; None if it can."""
        return None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """An annotation that names a kind means "any component of that kind": the spec's checker looks it up."""
        from pydantic_core import core_schema

        if is_kind(cls):
            return core_schema.with_info_plain_validator_function(
                lambda value, info: info.context.check_component(cls.component_kind, value),
            )
        return handler(source)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        if is_kind(cls):
            return {"ebmkit_kind": cls.component_kind}  # made a reference by `ebmkit.language.schema`
        described: dict[str, Any] = handler(schema)
        return described


def is_kind(cls: type) -> bool:
    """True for a kind itself, False for a component of it."""
    return "component_kind" in cls.__dict__


C = TypeVar("C", bound=type[Any])


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def component(name: str, *, revision: int = 1) -> Callable[[C], C]:
    """Declare a class as the component `name` of the kind it subclasses.

    Raise `revision` when the same parameters begin to mean different numbers: it goes into the hash of every plan.
    """

    def declare(cls: C) -> C:
        if not _NAME.match(name):
            raise TypeError(
                f"component name {name!r}: lower-case letters, digits and underscores, starting with a letter"
            )
        if not (issubclass(cls, Component) and hasattr(cls, "component_kind")):
            raise TypeError(f"{cls.__qualname__} subclasses no kind (Model, Sampler, Bregman, ...)")
        documented = cls.__doc__ is not None
        made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        if not documented:
            made.__doc__ = ""  # a dataclass would write its signature there
        if "use" in made.__dataclass_fields__:
            raise TypeError(f"{cls.__qualname__}: the parameter name 'use' belongs to the spec language")
        made.component_name = name
        made.component_revision = revision
        return cast(C, made)

    return declare


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def section(cls: C) -> C:
    """A part of a spec or of a component that has one form and so needs no `use:`; checked as strictly as they are."""
    made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    made.__pydantic_config__ = STRICT
    return cast(C, made)
