"""The plugins of a process: listed without importing, loaded when a spec names them, isolated if they are broken.

pluggy's own loader stops at the first broken plugin and silently skips a duplicate name, so it is not used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pluggy

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.schema import PluginBroken, PluginMissing
from ebmkit.errors.source import Place, Source
from ebmkit.registry import builtin, hookspecs
from ebmkit.registry.importing import Unusable, forget, import_plugin
from ebmkit.registry.spelling import did_you_mean
from ebmkit.registry.validation import register

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component
    from ebmkit.registry.discovery import Plugin
    from ebmkit.registry.offer import Offer

#: Python files with plugins: one, or several.
PluginFiles: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


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
    """The plugins of this process: built-ins, installed distributions, and files named on the command line."""

    def __init__(self, files: PluginFiles = ()) -> None:
        self.manager = pluggy.PluginManager("ebmkit")
        self.manager.add_hookspecs(hookspecs)
        self.builtin = register(self.manager, builtin.__name__, vars(builtin), "ebmkit").offers
        self.loaded: dict[str, LoadedPlugin] = {}
        self._failed: dict[str, str] = {}
        #: For each plugin that was loaded, the modules that had been imported before it.
        self._earlier: dict[str, frozenset[str]] = {}
        self._found: dict[str, Plugin] | None = None
        # A string is a sequence too, of letters.
        several = [files] if isinstance(files, (str, os.PathLike)) else files
        for number, name in enumerate([os.fspath(file) for file in several], start=1):
            self._load_file(name, Place(Source(f"--plugin[{number}]", name), 1, 1, len(name)))

    def found(self) -> dict[str, Plugin]:
        """All plugins by namespace, from metadata alone."""
        if self._found is None:
            from ebmkit.registry.discovery import installed  # reading metadata is slow, but most specs name no plugin

            self._found = installed()
        return self._found

    def _load_file(self, name: str, place: Place) -> None:
        """Load a file named by the user at once; any error in it is raised."""
        from ebmkit.registry.discovery import file_plugin

        try:
            plugin = file_plugin(name)
            taken = self.found().setdefault(plugin.namespace, plugin)
            if taken is not plugin:
                raise PluginBroken(
                    f"the file '{name}' and '{taken.distribution}' both claim the namespace '{plugin.namespace}'",
                    help="rename the file",
                )
            self.load_whole(plugin.namespace)
        except EbmkitError as error:
            reasons = error.__cause__.reasons if isinstance(error.__cause__, Unusable) else ()
            errors = [self._of_file(name, reason) for reason in reasons] if len(reasons) > 1 else [error]
            for each in errors:
                each.place = place
            if errors == [error]:
                raise
            raise Mistakes(errors) from error

    @staticmethod
    def _of_file(name: str, reason: str) -> EbmkitError:
        return PluginBroken(f"the plugin '{name}' cannot be used: {reason}")

    def load(self, namespace: str) -> LoadedPlugin:
        """Import one plugin and check it. Raises PluginMissing or PluginBroken with the reason; never anything else."""
        if namespace in self.loaded:
            return self.loaded[namespace]
        plugin = self.found().get(namespace)
        if plugin is None:
            raise PluginMissing(
                f"no plugin '{namespace}' is installed",
                label=did_you_mean(namespace, self.found()),
                help="'ebmkit plugins' lists those installed; to use a Python file of your own, add --plugin FILE",
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
            raise self._broken(loaded.plugin) from Unusable(*mistakes)
        usable = tuple(offer for offer in loaded.offers if offer not in failed)
        self.loaded[namespace] = replace(loaded, offers=usable, broken=(*loaded.broken, *failed), mistakes=mistakes)
        return self.loaded[namespace]

    def _broken(self, plugin: Plugin) -> PluginBroken:
        return PluginBroken(f"{plugin.label} cannot be used: {self._failed[plugin.namespace]}")

    def _join(self, plugin: Plugin) -> LoadedPlugin:
        changed: list[str] = []
        if isinstance(plugin.target, Path):
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
