"""The plugins of a process: listed without importing, loaded when a spec names them, isolated if they are broken.

pluggy's own loader stops at the first broken plugin and silently skips a duplicate name, so it is not used.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from ebmkit.errors.base import EbmkitError
from ebmkit.errors.schema import PluginBroken, PluginMissing
from ebmkit.errors.source import Place, Source
from ebmkit.registry import builtin, hookspecs
from ebmkit.registry.at_hand import AtHand
from ebmkit.registry.given import NOTEBOOK, PluginsGiven, is_file, listed
from ebmkit.registry.importing import Unusable, comes_from, forget, import_plugin, module_name
from ebmkit.registry.spelling import did_you_mean
from ebmkit.registry.validation import register

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component
    from ebmkit.registry.discovery import Plugin
    from ebmkit.registry.offer import Offer

#: Of what Python passed.
_PLACE = Place(Source("plugins", "", shown="plugins"), 1, 1)


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin that was imported and passed validation."""

    plugin: Plugin
    module: str
    offers: tuple[Offer, ...]
    #: Its components that cannot be used, as offers that raise the reason; and all these reasons.
    broken: tuple[Offer, ...]
    mistakes: tuple[str, ...]
    #: The names of its hooks.
    hooks: tuple[str, ...]
    sha256: str
    #: What it changed in the process when it was imported; all of it was restored.
    changed: tuple[str, ...]

    @property
    def components(self) -> tuple[type[Component], ...]:
        """Its components that can be used, all imported. Raises PluginBroken if one fails validation now."""
        return tuple(offer.load() for offer in self.offers)


class Plugins:
    """The plugins of a spec: built-ins, installed distributions, and what the user names or passes."""

    def __init__(self, given: PluginsGiven = ()) -> None:
        self.manager = pluggy.PluginManager("ebmkit")
        self.manager.add_hookspecs(hookspecs)
        self.builtin = register(self.manager, builtin.__name__, vars(builtin), "ebmkit").offers
        self.loaded: dict[str, LoadedPlugin] = {}
        self._failed: dict[str, str] = {}
        #: For each plugin that was loaded, the modules that had been imported before it.
        self._earlier: dict[str, frozenset[str]] = {}
        self._found: dict[str, Plugin] | None = None
        objects: dict[str, list[Any]] = {}
        for number, (namespace, one) in enumerate(listed(given), start=1):
            if is_file(one):
                name = os.fspath(one)
                self._load_path(name, namespace, Place(Source(f"--plugin[{number}]", name), 1, 1, len(name)))
            elif isinstance(one, ModuleType):
                self._load_module(one, namespace)
            else:
                objects.setdefault(namespace or NOTEBOOK, []).append(one)
        for namespace, some in objects.items():
            self.join(namespace, some)

    def found(self) -> dict[str, Plugin]:
        """All plugins by namespace, from metadata alone."""
        if self._found is None:
            from ebmkit.registry.discovery import installed  # reading metadata is slow, but most specs name no plugin

            self._found = installed()
        return self._found

    def _load_path(self, name: str, namespace: str, place: Place) -> None:
        """Load a file or folder that the user passed at once; any error in it is raised."""
        from ebmkit.registry.source_package import path_plugins

        try:
            plugins = path_plugins(name)
            if namespace and namespace not in (known := [plugin.namespace for plugin in plugins]):
                raise PluginBroken(f"the namespace of '{name}' is its own: {', '.join(known)}")
            for plugin in plugins:
                if plugin.module and comes_from(sys.modules.get(plugin.module), Path(name)):
                    forget(plugin, ())  # its files may have changed since
            for plugin in plugins:
                self._claim(plugin, "rename one of them")
                self.load_whole(plugin.namespace)
        except EbmkitError as error:
            error.place = place
            raise

    def _load_module(self, module: ModuleType, namespace: str) -> None:
        """Load a module that Python passed; any error in it is raised."""
        from ebmkit.registry.discovery import module_plugin

        try:
            known = (name for name, each in self.found().items() if module_name(each) == module.__name__)
            if name := next(known, None):
                self.load_whole(name)
                return
            plugin = module_plugin(module, namespace)
            self._claim(plugin, 'choose another namespace: plugins={"mine": module}')
            self.load_whole(plugin.namespace)
        except EbmkitError as error:
            error.place = _PLACE
            raise

    def _claim(self, plugin: Plugin, help: str) -> None:
        """Enter a plugin under its namespace, unless another one has it."""
        taken = self.found().get(plugin.namespace)
        # The folder of an installed package takes its place.
        if taken is not None and not (plugin.module and taken.distribution == plugin.distribution):
            what = plugin.distribution
            if isinstance(plugin.target, Path):
                what = f"the {'folder' if plugin.module else 'file'} '{plugin.target}'"
            raise PluginBroken(
                f"{what} and '{taken.distribution}' both claim the namespace '{plugin.namespace}'", help=help
            )
        self.found()[plugin.namespace] = plugin

    def join(self, namespace: str, objects: list[Any]) -> None:
        """Add objects that Python passed to the plugin of this namespace; any error in them is raised."""
        from ebmkit.registry.discovery import plugin_at_hand

        known = self.found().get(namespace)
        joined = AtHand()
        try:
            if known is not None and isinstance(known.target, AtHand):
                joined.components |= known.target.components
                joined.hooks |= known.target.hooks
                self.manager.unregister(name=self.loaded.pop(namespace).module)
                del self.found()[namespace]
            for one in objects:
                joined.add(one)
            self._claim(plugin_at_hand(joined, namespace), 'choose another namespace: plugins={"mine": [...]}')
            self.load(namespace)
        except EbmkitError as error:
            error.place = _PLACE
            raise

    def component_of(self, one: Any) -> type[Component] | None:
        """The component that was made of an energy that Python passed."""
        at_hand = (each.plugin.target for each in self.loaded.values() if isinstance(each.plugin.target, AtHand))
        return next((each.components[id(one)][1] for each in at_hand if id(one) in each.components), None)

    def package_of(self, cls: type[Any]) -> str | None:
        """The namespace of the installed plugin whose package defines a class."""
        top = cls.__module__.partition(".")[0]
        mine = (name for name, each in self.found().items() if module_name(each).partition(".")[0] == top)
        return next(mine, None)

    def load(self, namespace: str) -> LoadedPlugin:
        """Import one plugin and check it. Raises PluginMissing or PluginBroken with the reason; never anything else."""
        if namespace in self.loaded:
            return self.loaded[namespace]
        plugin = self.found().get(namespace)
        if plugin is None:
            raise PluginMissing(
                f"no plugin '{namespace}' is installed",
                label=did_you_mean(namespace, self.found()),
                help="'ebmkit plugins' lists those installed; to use a Python file of your own, add --plugin FILE, or "
                "in Python plugins=[...]",
            )
        if namespace not in self._failed:
            self._earlier[namespace] = frozenset(sys.modules)
            try:
                if plugin.trouble:
                    raise Unusable(plugin.trouble)
                self.loaded[namespace] = self._join(plugin)
                return self.loaded[namespace]
            except Unusable as reason:
                self._failed[namespace] = str(reason)
                forget(plugin, self._earlier[namespace])
                raise self._broken(plugin) from reason
        raise self._broken(plugin)

    def load_whole(self, namespace: str) -> LoadedPlugin:
        """Load a plugin with all its components, including those that would be imported later.

        Raises as `load` does, also if none of its components can be used.
        """
        loaded = self.load(namespace)
        errors = [(offer, error) for offer in loaded.offers if (error := _failure(offer))]
        if not errors:
            return loaded
        failed = tuple(offer for offer, _ in errors)
        mistakes = (*loaded.mistakes, *(str(error.__cause__) for _, error in errors))
        if len(failed) == len(loaded.offers):
            self._failed[namespace] = "; ".join(mistakes)
            del self.loaded[namespace]
            self.manager.unregister(name=loaded.module)
            forget(loaded.plugin, self._earlier[namespace])
            raise self._broken(loaded.plugin) from errors[0][1]
        usable = tuple(offer for offer in loaded.offers if offer not in failed)
        self.loaded[namespace] = replace(loaded, offers=usable, broken=(*loaded.broken, *failed), mistakes=mistakes)
        return self.loaded[namespace]

    def _broken(self, plugin: Plugin) -> PluginBroken:
        return PluginBroken(f"{plugin.label} cannot be used: {self._failed[plugin.namespace]}")

    def _join(self, plugin: Plugin) -> LoadedPlugin:
        changed: list[str] = []
        if isinstance(plugin.target, Path) and not plugin.module:
            forget(plugin, ())  # another file of this name may have been loaded earlier
        module = import_plugin(plugin, changed)
        made = register(self.manager, module.name, module.names, plugin.label, changed)
        noticed = tuple(dict.fromkeys(changed))
        return LoadedPlugin(
            plugin, module.name, made.offers, made.broken, made.mistakes, made.hooks, module.sha256, noticed
        )


def _failure(offer: Offer) -> PluginBroken | None:
    try:
        offer.load()
    except PluginBroken as error:
        return error
    return None
