"""The plugins of a process: listed without importing, loaded when a spec names them, isolated if they are broken.

pluggy's own loader stops at the first broken plugin and silently skips a duplicate name, so it is not used.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
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
from ebmkit.registry.importing import Unusable, forget, import_plugin, module_name
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
    sha256: str
    #: What it changed in the process when it was imported; all of it was restored.
    changed: tuple[str, ...]

    @property
    def components(self) -> tuple[type[Component], ...]:
        """Its components, all imported. Raises PluginBroken if one fails validation."""
        return tuple(offer.load() for offer in self.offers)


class Plugins:
    """The plugins of a spec: built-ins, installed distributions, and what the user names or passes."""

    def __init__(self, given: PluginsGiven = ()) -> None:
        self.manager = pluggy.PluginManager("ebmkit")
        self.manager.add_hookspecs(hookspecs)
        self.builtin = register(self.manager, builtin.__name__, vars(builtin), "ebmkit")
        self.loaded: dict[str, LoadedPlugin] = {}
        self._failed: dict[str, str] = {}
        #: For each plugin that was loaded, the modules that had been imported before it.
        self._earlier: dict[str, frozenset[str]] = {}
        self._found: dict[str, Plugin] | None = None
        objects: dict[str, list[Any]] = {}
        for number, (namespace, one) in enumerate(listed(given), start=1):
            if is_file(one):
                name = os.fspath(one)
                self._load_given(name, namespace, Place(Source(f"--plugin[{number}]", name), 1, 1, len(name)))
            elif isinstance(one, ModuleType):
                self._load_given(one, namespace, _PLACE)
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

    def _load_given(self, one: str | ModuleType, namespace: str, place: Place) -> None:
        """Load a file or a module that the user passed at once; any error in it is raised."""
        from ebmkit.registry.discovery import file_plugin, module_plugin

        try:
            if isinstance(one, ModuleType):
                known = (name for name, each in self.found().items() if module_name(each) == one.__name__)
                if name := next(known, None):
                    self._load_whole(name)
                    return
                plugin = module_plugin(one, namespace)
            else:
                plugin = file_plugin(one)
                if namespace not in ("", plugin.namespace):
                    raise PluginBroken(f"the namespace of a file is its name, here '{plugin.namespace}'")
            self._claim(plugin, "rename the file")
            self._load_whole(plugin.namespace)
        except EbmkitError as error:
            error.place = place
            raise

    def _claim(self, plugin: Plugin, help: str) -> None:
        """Enter a plugin under its namespace, unless another one has it."""
        taken = self.found().setdefault(plugin.namespace, plugin)
        if taken is not plugin:
            what = f"the file '{plugin.distribution}'" if isinstance(plugin.target, Path) else plugin.distribution
            raise PluginBroken(
                f"{what} and '{taken.distribution}' both claim the namespace '{plugin.namespace}'", help=help
            )

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

    def load_all(self) -> list[PluginBroken]:
        """Load all plugins, and return the errors of those that could not be loaded."""
        broken = []
        for namespace, plugin in self.found().items():
            if plugin.disabled:
                continue
            try:
                self._load_whole(namespace)
            except PluginBroken as error:
                broken.append(error)
        return broken

    def _load_whole(self, namespace: str) -> None:
        """Load a plugin with all its components, including those that would be imported later."""
        loaded = self.load(namespace)
        try:
            _ = loaded.components
        except PluginBroken as error:
            self._failed[namespace] = str(error.__cause__)
            del self.loaded[namespace]
            self.manager.unregister(name=loaded.module)
            forget(loaded.plugin, self._earlier[namespace])
            raise

    def _broken(self, plugin: Plugin) -> PluginBroken:
        return PluginBroken(f"{plugin.label} cannot be used: {self._failed[plugin.namespace]}")

    def _join(self, plugin: Plugin) -> LoadedPlugin:
        changed: list[str] = []
        if isinstance(plugin.target, Path):
            forget(plugin, ())  # another file of this name may have been loaded earlier
        module = import_plugin(plugin, changed)
        offers = register(self.manager, module.name, module.names, plugin.label, changed)
        return LoadedPlugin(plugin, module.name, offers, module.sha256, tuple(dict.fromkeys(changed)))
