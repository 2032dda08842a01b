"""The registry: kind and name -> component."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import KINDS, noun
from ebmkit.errors.schema import UnknownComponent
from ebmkit.registry.catalogue import Broken
from ebmkit.registry.given import NOTEBOOK
from ebmkit.registry.origin import origin
from ebmkit.registry.spelling import a, did_you_mean

if TYPE_CHECKING:
    from ebmkit.registry.catalogue import Described
    from ebmkit.registry.description import Description
    from ebmkit.registry.listing import Listing
    from ebmkit.registry.loading import Plugins
    from ebmkit.registry.offer import Offer


@dataclass(frozen=True)
class Entry:
    """A registered component."""

    kind: str
    name: str  # as a spec writes it: `langevin`, `itakura.itakura_saito`
    plugin: str
    load: Callable[[], type[Component]]
    summarise: Callable[[], str | None] | None = None
    #: What verbs show of it, where that is known without importing it.
    described: Described | None = None

    @property
    def cls(self) -> type[Component]:
        return self.load()

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        if self.described is not None:
            return self.described.summary
        if self.summarise is not None and (known := self.summarise()) is not None:
            return known
        return self.description.page.summary

    @property
    def description(self) -> Description:
        """What verbs show of it."""
        if self.described is not None:
            return self.described.description
        from ebmkit.registry.description import describe  # imports pydantic

        cls: Any = self.cls
        return describe(cls)


class Registry:
    """The components that a spec may name. A plugin is loaded when a name with its namespace is used."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self._entries: dict[tuple[str, str], Entry] = {}
        #: What `find` says of components that cannot be used.
        self._broken: dict[tuple[str, str], Offer] = {}
        self._namespaces: set[str] = set()
        self._add(plugins.builtin, "ebmkit")
        for namespace in plugins.loaded:  # files named on the command line
            self.load(namespace)

    def find(self, kind: str, name: str) -> type[Component]:
        """The class that has this name. Raises UnknownComponent, PluginMissing or PluginBroken, without a place."""
        return self.entry(kind, name).cls

    def entry(self, kind: str, name: str) -> Entry:
        """The entry of this name. Raises as `find` does."""
        if "." in name:
            self.load(name.partition(".")[0])
        entry = self._entries.get((kind, name))
        if entry is None:
            if (kind, name) in self._broken:
                self._broken[kind, name].load()  # raises the reason
            raise self._unknown(kind, name)
        return entry

    def described(self, kind: str, name: str) -> Description:
        """What verbs show of a component, which is imported only if it was not described. Raises as `find` does."""
        known = self._entries.get((kind, name))
        return (known or self.entry(kind, name)).description

    def load(self, namespace: str) -> None:
        """Make the components of one plugin known."""
        if namespace not in self._namespaces:
            loaded = self.plugins.load(namespace)
            # What was only described is replaced: the description may be older than the code.
            self._entries = {key: entry for key, entry in self._entries.items() if entry.plugin != namespace}
            self._add(loaded.offers, namespace, f"{namespace}.")
            self._broken |= {(offer.kind, f"{namespace}.{offer.name}"): offer for offer in loaded.broken}
            self._namespaces.add(namespace)

    def _add(self, offers: Iterable[Offer], plugin: str, prefix: str = "") -> None:
        for offer in offers:
            name = prefix + offer.name
            self._entries[offer.kind, name] = Entry(offer.kind, name, plugin, offer.load, offer.summarise)

    def describe(self, listing: Listing, wanted: Iterable[str] | None = None) -> None:
        """Make the components of installed plugins known without importing them: to be shown, or loaded later."""
        for namespace, known in listing.catalogues(wanted).items():
            if namespace in self._namespaces or isinstance(known, Broken):
                continue
            for each in known.components:
                key = each.kind, f"{namespace}.{each.name}"
                load = partial(self._load_one, *key)
                self._entries[key] = Entry(*key, namespace, load, described=each)

    def _load_one(self, kind: str, name: str) -> type[Component]:
        self.load(name.partition(".")[0])  # replaces the entry
        return self.find(kind, name)

    def entries(self, kind: str | None = None) -> list[Entry]:
        """The known components by kind and name, built-ins first."""
        order = list(KINDS)
        wanted = [entry for entry in self._entries.values() if kind in (None, entry.kind)]
        return sorted(wanted, key=lambda entry: (order.index(entry.kind), "." in entry.name, entry.name))

    def names(self, kind: str) -> list[str]:
        return [entry.name for entry in self.entries(kind)]

    def name_of(self, cls: type[Component]) -> str:
        """The name of this class in a spec; built-ins have no prefix."""
        kind, name = cls.component_kind, cls.component_name
        alike = [entry for entry in self._entries.values() if entry.kind == kind and entry.name.endswith(f".{name}")]
        return next((entry.name for entry in alike if entry.cls is cls), name)

    def name_of_object(self, one: Any) -> str:
        """The name in a spec of a component class, a torch module or a function. What has none yet joins the namespace
        `notebook`. Raises PluginBroken for what cannot be a component."""
        cls = one if isinstance(one, type) else self.plugins.component_of(one)
        if cls is not None and (name := self._known_name(cls)):
            return name
        package = self.plugins.package_of(one) if isinstance(one, type) else None
        if package is not None:
            self.load(package)
            if name := self._known_name(one):
                return name
        self.plugins.join(NOTEBOOK, [one])
        self._add(self.plugins.loaded[NOTEBOOK].offers, NOTEBOOK, f"{NOTEBOOK}.")
        self._namespaces.add(NOTEBOOK)
        joined = self._known_name(one if isinstance(one, type) else self.plugins.component_of(one))
        assert joined is not None
        return joined

    def _known_name(self, cls: Any) -> str | None:
        """The name under which this very class is registered."""
        bare = getattr(cls, "component_name", None)
        alike = [entry for entry in self._entries.values() if entry.name.rpartition(".")[2] == bare]
        return next((entry.name for entry in alike if entry.kind == cls.component_kind and entry.cls is cls), None)

    def origin(self, cls: type[Any]) -> str:
        """` of ebmkit-alpha 0.2` for a component of an installed plugin, to be put after its name; empty for others."""
        if not issubclass(cls, Component):
            return ""
        return origin(self.name_of(cls), self.plugins.loaded.values())

    def _unknown(self, kind: str, name: str) -> UnknownComponent:
        other = [known for known, known_name in self._entries if known_name == name]
        names = f"'ebmkit list {kind}' shows all of them"
        owned = [known for known in self.names(kind) if known.endswith(f".{name}")]
        if owned:  # a plugin was loaded, but the name lacks its namespace
            return UnknownComponent(f"unknown {noun(kind)} '{name}'", label=f"did you mean '{owned[0]}'?", help=names)
        if other:
            return UnknownComponent(f"'{name}' is {a(noun(other[0]))}, not {a(noun(kind))}", help=names)
        return UnknownComponent(
            f"unknown {noun(kind)} '{name}'", label=did_you_mean(name, self.names(kind)), help=names
        )
