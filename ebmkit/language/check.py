"""Tree to spec: every component looked up, every value checked, all mistakes at once.

pydantic checks in strict JSON mode. A component's annotation names its kind; pydantic then calls back here, where the
name is looked up and its parameters are checked in turn. So the location of an error is the path in the YAML tree.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from ebmkit.contracts.component import Component
from ebmkit.contracts.files import FilePath
from ebmkit.contracts.kinds import KINDS, noun
from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.schema import (
    NotAComponent,
    UnknownPart,
    UnknownVersion,
    UnusedPart,
    WrongType,
)
from ebmkit.errors.source import Path
from ebmkit.errors.text import TooLarge
from ebmkit.language.enclosed import Enclosed
from ebmkit.language.files import FILES, Finder
from ebmkit.language.found import FOUND, Found
from ebmkit.language.sections import Spec
from ebmkit.language.text import MAX_DEPTH, Node, show
from ebmkit.registry.importing import was_ctrl_c
from ebmkit.registry.registry import Registry
from ebmkit.registry.spelling import a, nearest

if TYPE_CHECKING:
    from collections.abc import Hashable


@dataclass(frozen=True)
class Checked:
    """A spec whose every value is right by itself; whether they fit together is the next question."""

    spec: Spec
    tree: Node
    #: The components that stand under `parts:`, by name and kind.
    parts: dict[tuple[str, str], Component]
    #: The shape of a state, if this is the spec as a stage sees it that trains a part of the model.
    seen: tuple[int, ...] | None = None
    #: The files that a run folder receives with this spec.
    enclosed: Enclosed = field(default_factory=Enclosed)


def check(
    tree: Node, registry: Registry, *, default_name: str = "experiment", enclosed: Enclosed | None = None
) -> Checked:
    """The spec that a tree spells. Raises `Mistakes` with everything that is wrong."""
    checker = _Checker(tree, registry, enclosed := enclosed or Enclosed())
    checker.check_version()
    checker.check_plugins()
    checker.check_files()
    sections = {name: node.plain() for name, node in checker.root.items() if name not in ("parts", "plugins", FILES)}
    sections.setdefault("name", default_name)
    if "ebmkit" in sections:
        sections["ebmkit"] = 1  # any other value was refused above; to pydantic, 1.0 and true are 1 too
    spec = checker.validate(Spec, sections, owner="the spec")
    checker.check_unused_parts()
    if checker.mistakes:
        raise Mistakes(checker.mistakes)
    assert isinstance(spec, Spec)
    parts = {key: part for key, part in checker.checked_parts.items() if part is not None}
    return Checked(spec, tree, parts, enclosed=enclosed)


class _Checker:
    """What pydantic calls back to: the registry, the parts, and the mistakes found so far."""

    def __init__(self, tree: Node, registry: Registry, enclosed: Enclosed) -> None:
        assert isinstance(tree.value, dict)
        self.tree = tree
        self.root = tree.value
        self.registry = registry
        self.mistakes: list[EbmkitError] = []
        self.parts = self._mapping("parts")
        self.checked_parts: dict[tuple[str, str], Component | None] = {}  # None: it has mistakes
        self.open_parts: list[str] = []  # those whose check is under way, to notice a circle
        self.used_parts: set[str] = set()
        self.absent_plugins: set[str] = set()
        self._finder = Finder(tree, enclosed)

    # What stands at the top -------------------------------------------------------------------------------------------

    def check_version(self) -> None:
        version = self.root.get("ebmkit")
        if version and type(version.value) is not int:
            self.mistakes.append(
                WrongType(f"the version of the spec language is 1, not {show(version.plain())}", version.head)
            )
        elif version and version.value != 1:
            raise Mistakes(
                [
                    UnknownVersion(
                        f"this ebmkit knows version 1 of the spec language, not {version.value}",
                        version.place,
                        help="a newer spec needs a newer ebmkit-core",
                    )
                ]
            )

    def check_plugins(self) -> None:
        """`plugins:` states what a spec needs; each is loaded, so that its hooks run too."""
        for namespace, node in self._mapping("plugins").items():
            error: EbmkitError | None = None
            if isinstance(node.value, str):
                from ebmkit.language.requirements import unmet  # most specs name no plugin

                error = unmet(self.registry, namespace, node.value)
            else:
                error = WrongType(
                    f"plugin '{namespace}' needs a requirement, not {show(node.plain())}",
                    help=f'for example {{{namespace}: "ebmkit-{namespace}>=0.1"}}',
                )
            if error:
                error.place = node.place
                self.mistakes.append(error)
                self.absent_plugins.add(namespace)

    def check_files(self) -> None:
        """`files:` states where the files of a run were found."""
        for path, node in self._mapping(FILES).items():
            if not isinstance(node.value, str):
                self.mistakes.append(WrongType(f"the file '{path}' is a path, not {show(node.plain())}", node.place))

    def locate(self, path: str) -> str:
        """Called by pydantic wherever an annotation names a file."""
        return self._finder.locate(path)

    def check_unused_parts(self) -> None:
        for name, node in self.parts.items():
            if name not in self.used_parts and node.key:
                self.mistakes.append(
                    UnusedPart(
                        f"nothing refers to the part '{name}'", node.key, help=f"write ${name} where it is to be used"
                    )
                )

    def _mapping(self, name: str) -> dict[str, Node]:
        node = self.root.get(name)
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            self.mistakes.append(WrongType(f"'{name}' is a mapping, not {show(node.plain())}", node.place))
            return {}
        return node.value

    # Components -------------------------------------------------------------------------------------------------------

    def check_component(self, kind: str, value: Any) -> Component:
        """Called by pydantic wherever an annotation names a kind. Gives a whole component or raises: a component around
        one that is missing would find mistakes that are none."""
        if isinstance(value, str) and value.startswith("$"):
            return self._part(kind, value[1:])
        if isinstance(value, str):
            value = {"use": value}
        if not isinstance(value, dict):
            raise _at(NotAComponent(f"expected {a(noun(kind))}, not {show(value)}", help="a name, or {use: name, ...}"))
        parameters = dict(value)
        name = parameters.pop("use", None)
        if not isinstance(name, str):
            raise _at(self._useless(kind, value, name), *(["use"] if "use" in value else []))
        if name.partition(".")[0] in self.absent_plugins and "." in name:
            raise _reported()  # where `plugins:` asks for it
        try:
            cls = self.registry.find(kind, name)
        except EbmkitError as error:
            if name.startswith("$"):
                error.help = f"write a reference without 'use': {kind}: $name"
            raise _at(error, "use") from None
        defaults = _default_paths(cast("Hashable", cls)) if kind == "data" else {}
        made: Component = self._construct(cls, {**defaults, **parameters}, owner=f"{kind} '{name}'")
        return made

    def _useless(self, kind: str, value: dict[str, Any], name: Any) -> EbmkitError:
        if "use" in value:
            return NotAComponent(f"'use' must be the name of {a(noun(kind))}, not {show(name)}")
        slip = nearest("use", value)
        label = f"did you mean 'use' instead of '{slip}'?" if slip else ""
        named = [key for key in value if key in self.registry.names(kind)]
        if named:
            return NotAComponent(
                f"this {noun(kind)} lacks 'use'", help=f"{{use: {named[0]}, ...}}, with the parameters after the name"
            )
        help = f"{{use: name, ...}}; 'ebmkit list {kind}' shows the names"
        return NotAComponent(f"this {noun(kind)} lacks 'use'", label=label, help=help)

    def _construct(self, cls: type[Any], parameters: dict[str, Any], owner: str) -> Any:
        """An instance, or pydantic's error with every line of it in our words."""
        try:
            return _adapter(cast("Hashable", cls)).validate_json(json.dumps(parameters), context=self)
        except ValidationError as error:
            from ebmkit.language.pydantic_errors import translate  # most specs are right

            raise ValidationError.from_exception_data(
                owner,
                [
                    InitErrorDetails(type=PydanticCustomError("ebmkit", "", {FOUND: found}), loc=path, input=None)
                    for path, found in translate(error, cls, parameters, owner)
                ],
            ) from None
        except BaseException as error:  # a component's own check may raise anything
            if was_ctrl_c(error):
                raise
            who = owner + self.registry.origin(cls)
            raise _at(ComponentFailed(f"{who} raised {describe_error(error)}")) from error

    def _part(self, kind: str, name: str) -> Component:
        """The shared object that `$name` refers to: checked once, and its mistakes are shown where it is written."""
        if name not in self.parts:
            meant = nearest(name, self.parts)
            self.used_parts.update({meant} if meant else ())  # misspelt, so not unused as well
            label = f"did you mean '{meant}'?" if meant else ""
            raise _at(UnknownPart(f"there is no part '{name}'", label=label, help="parts are defined under 'parts:'"))
        if name in self.open_parts:
            raise _at(UnknownPart(f"the part '{name}' refers to itself"))
        if self.parts[name].depth + sum(self.parts[outer].depth for outer in self.open_parts) > MAX_DEPTH:
            raise _at(TooLarge(f"nested more than {MAX_DEPTH} levels deep, counting what parts refer to"))
        self.used_parts.add(name)
        other = next((known for part, known in self.checked_parts if part == name and known != kind), None)
        if other and self.checked_parts[name, other] is None:
            raise _reported()
        if other:
            there, here = a(noun(other)), a(noun(kind))
            raise _at(UnknownPart(f"the part '{name}' is used as {there} elsewhere, so it cannot be {here} here"))
        if (name, kind) not in self.checked_parts:
            self.open_parts.append(name)
            found = self.validate(_kind_adapter(kind), self.parts[name].plain(), owner="", prefix=("parts", name))
            self.open_parts.pop()
            self.checked_parts[name, kind] = found
        if (part := self.checked_parts[name, kind]) is None:
            raise _reported()
        return part

    # From pydantic's locations to places ------------------------------------------------------------------------------

    def validate(self, target: Any, value: Any, owner: str, prefix: Path = ()) -> Any:
        """Check a value and file its mistakes at their places; None where there were any."""
        try:
            if isinstance(target, TypeAdapter):
                return target.validate_json(json.dumps(value), context=self)
            return self._construct(target, value, owner)
        except ValidationError as error:
            for line in error.errors(include_url=False, include_input=False):
                if (found := line["ctx"][FOUND]) is not None:
                    self.mistakes.append(self._located(found, (*prefix, *line["loc"])))
            return None

    def _located(self, found: Found, path: Path) -> EbmkitError:
        """A mistake with the place that its path leads to. A path may hold pydantic's own words; they lead nowhere."""
        node = self.tree.follow(path)
        found.mistake.place = node.key if found.at_key and node.key else node.head
        return found.mistake


def _at(mistake: EbmkitError, *path: str | int) -> ValidationError:
    """A mistake on its way through pydantic, which puts the path of the component in front."""
    return _carrier(Found(mistake), *path)


def _reported() -> ValidationError:
    """For a component that cannot be made because of a mistake that was filed elsewhere."""
    return _carrier(None)


def _carrier(found: Found | None, *path: str | int) -> ValidationError:
    custom = PydanticCustomError("ebmkit", "", {FOUND: found})
    return ValidationError.from_exception_data("component", [InitErrorDetails(type=custom, loc=path, input=None)])


@cache
def _adapter(cls: Any) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


@cache
def _default_paths(cls: Any) -> dict[str, Any]:
    """Default paths of files, which are looked for as if they were written."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: field.default for field in fields(cls) if hints[field.name] == FilePath}


@cache
def _kind_adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])
