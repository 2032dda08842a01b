"""What the verbs show of a plugin, as plain data: from its manifest, the cache, or a process that imported it.

`list`, `show`, `schema` and completion read only this, so they run no code of the plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.component import NAME
from ebmkit.contracts.kinds import KINDS

if TYPE_CHECKING:
    from ebmkit.registry.description import Description
    from ebmkit.registry.loading import LoadedPlugin

#: Maximum number of components of one plugin.
MOST_COMPONENTS = 1000

_TEXTS = ("summary", "body", "reference", "example")


class Malformed(ValueError):
    """Data that are not a catalogue."""


@dataclass(frozen=True)
class Described:
    """A component as plain data, checked by `read_component`."""

    content: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def name(self) -> str:
        return str(self.content["name"])

    @property
    def summary(self) -> str:
        return str(self.content["summary"])

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws that it held when its manifest was written."""
        return tuple(self.content.get("laws", ()))

    @property
    def description(self) -> Description:
        """What `show` and `schema` need."""
        from ebmkit.registry.description import Description
        from ebmkit.registry.reference import Page, Parameter

        content = self.content
        parameters = tuple(
            Parameter(each["name"], each["type"], each.get("default", MISSING), each["meaning"])
            for each in content["parameters"]
        )
        texts = {name: content[name] for name in _TEXTS}
        page = Page(**texts, results=dict(content["results"]), parameters=parameters)
        return Description(page, tuple(content["abilities"]), content["schema"])


@dataclass(frozen=True)
class Catalogue:
    """What a plugin offers, and what was noticed when it was imported."""

    components: tuple[Described, ...]
    #: The hooks that it implements, without `ebmkit_components`.
    hooks: tuple[str, ...] = ()
    #: What is wrong with some of its components; the others can be used.
    mistakes: tuple[str, ...] = ()
    #: What its import changed in the process.
    changed: tuple[str, ...] = ()
    #: How long the import took.
    seconds: float = 0.0

    def plain(self) -> dict[str, Any]:
        """The content as JSON can hold it."""
        return {
            "components": [dict(each.content) for each in self.components],
            "hooks": list(self.hooks),
            "mistakes": list(self.mistakes),
            "changed": list(self.changed),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Broken:
    """Why a plugin cannot be used."""

    reason: str
    #: Of the exception, for `--debug`.
    traceback: str = ""


def catalogue_of(loaded: LoadedPlugin, seconds: float = 0.0) -> Catalogue:
    """The catalogue of a plugin that is loaded with all its components."""
    components = tuple(Described(_plain_component(cls)) for cls in loaded.components)
    return Catalogue(components, loaded.hooks, loaded.mistakes, loaded.changed, round(seconds, 3))


def read_catalogue(content: Any) -> Catalogue:
    """The catalogue that was written as `plain()`. Raises Malformed for anything else."""
    seconds = _field(content, "seconds", float, 0.0)
    components = _field(content, "components", list)
    if len(components) > MOST_COMPONENTS:
        raise Malformed(f"more than {MOST_COMPONENTS} components")
    found = tuple(read_component(each) for each in components)
    if len({(each.kind, each.name) for each in found}) < len(found):
        raise Malformed("one component twice")
    hooks, mistakes, changed = (_texts(content, key, ()) for key in ("hooks", "mistakes", "changed"))
    return Catalogue(found, hooks, mistakes, changed, seconds)


def read_component(content: Any) -> Described:
    """A component with everything that the verbs show. Raises Malformed for anything else."""
    if _field(content, "kind", str) not in KINDS or not NAME.match(_field(content, "name", str)):
        raise Malformed("a component without a kind and a name")
    for name in _TEXTS:
        _field(content, name, str)
    if not all(type(word) is str for pair in _field(content, "results", dict).items() for word in pair):
        raise Malformed("'results' must map names to meanings")
    for parameter in _field(content, "parameters", list):
        for name in ("name", "type", "meaning"):
            _field(parameter, name, str)
    _texts(content, "abilities")
    _texts(content, "laws", ())
    _field(_field(content, "schema", dict), "properties", dict)
    return Described(content)


def _plain_component(cls: Any) -> dict[str, Any]:
    from ebmkit.registry.description import describe  # imports pydantic

    described = describe(cls)
    page = described.page
    return {
        "kind": cls.component_kind,
        "name": cls.component_name,
        "revision": cls.component_revision,
        **{name: getattr(page, name) for name in _TEXTS},
        "results": page.results,
        "parameters": [
            {"name": each.name, "type": each.type, "meaning": each.meaning}
            | ({} if each.required else {"default": each.default})
            for each in page.parameters
        ],
        "abilities": list(described.abilities),
        "schema": described.schema,
    }


def _field(content: Any, key: str, expected: type[Any], default: Any = None) -> Any:
    if type(content) is not dict:
        raise Malformed(f"a mapping with '{key}' is expected")
    value = content.get(key, default)
    if type(value) is not expected:
        raise Malformed(f"'{key}' must be of type {expected.__name__}")
    return value


def _texts(content: Any, key: str, default: Iterable[str] | None = None) -> tuple[str, ...]:
    value = _field(content, key, list, None if default is None else list(default))
    if not all(type(each) is str for each in value):
        raise Malformed(f"'{key}' must be a list of strings")
    return tuple(value)
