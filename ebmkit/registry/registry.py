"""(kind, name) -> component."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import KINDS
from ebmkit.errors.schema import UnknownComponent
from ebmkit.registry.spelling import a, did_you_mean

if TYPE_CHECKING:
    from ebmkit.registry.loading import Plugins


@dataclass(frozen=True)
class Offer:
    """A component that is imported when somebody asks for it."""

    kind: str
    name: str
    load: Callable[[], type[Component]]
    #: The first sentence of its docstring, if that can be had without importing it.
    summarise: Callable[[], str | None] | None = None


@dataclass(frozen=True)
class Entry:
    """A registered component."""

    kind: str
    name: str  # as a spec writes it: `langevin`, `itakura.itakura_saito`
    plugin: str
    load: Callable[[], type[Component]]
    summarise: Callable[[], str | None] | None = None

    @property
    def cls(self) -> type[Component]:
        return self.load()

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        if self.summarise is not None and (known := self.summarise()) is not None:
            return known
        return (inspect.getdoc(self.cls) or "").split("\n\n")[0].replace("\n", " ")


class Registry:
    """What a spec may name. Plugins are loaded when a name asks for them."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self._entries: dict[tuple[str, str], Entry] = {}
        self._prefixes: dict[type[Component], str] = {}
        self._namespaces: set[str] = set()
        for offer in plugins.builtin:
            self._entries[offer.kind, offer.name] = Entry(offer.kind, offer.name, "ebmkit", offer.load, offer.summarise)
        for namespace in plugins.loaded:  # files that were named on the command line
            self.load(namespace)

    def find(self, kind: str, name: str) -> type[Component]:
        """The class behind a name. Raises UnknownComponent, PluginMissing or PluginBroken, without a place."""
        if "." in name:
            self.load(name.partition(".")[0])
        entry = self._entries.get((kind, name))
        if entry is None:
            raise self._unknown(kind, name)
        return entry.cls

    def load(self, namespace: str) -> None:
        """Make the components of one plugin known."""
        if namespace not in self._namespaces:
            loaded = self.plugins.load(namespace)
            self._namespaces.add(namespace)
            for cls in loaded.components:
                name = f"{namespace}.{cls.component_name}"
                load = partial(_loaded, cls)
                self._entries[cls.component_kind, name] = Entry(cls.component_kind, name, namespace, load)
                self._prefixes[cls] = f"{namespace}."

    def load_all(self) -> list[Any]:
        """Make the components of all plugins known; returns the errors of those that are broken."""
        broken = self.plugins.load_all()
        for namespace in self.plugins.loaded:
            self.load(namespace)
        return broken

    def entries(self, kind: str | None = None) -> list[Entry]:
        """What is known so far, by kind and name, built-ins first."""
        order = list(KINDS)
        wanted = [entry for entry in self._entries.values() if kind in (None, entry.kind)]
        return sorted(wanted, key=lambda entry: (order.index(entry.kind), "." in entry.name, entry.name))

    def names(self, kind: str) -> list[str]:
        return [entry.name for entry in self.entries(kind)]

    def name_of(self, cls: type[Component]) -> str:
        """The name under which a spec asks for this class; built-ins carry no prefix."""
        return self._prefixes.get(cls, "") + cls.component_name

    def _unknown(self, kind: str, name: str) -> UnknownComponent:
        other = [known for known, known_name in self._entries if known_name == name]
        if other:
            return UnknownComponent(f"'{name}' is {a(other[0])}, not {a(kind)}", help=f"ebmkit list {kind}")
        return UnknownComponent(
            f"unknown {kind} '{name}'",
            label=did_you_mean(name, self.names(kind)),
            help=f"'ebmkit list {kind}' shows all of them",
        )


def _loaded(cls: type[Component]) -> type[Component]:
    return cls
