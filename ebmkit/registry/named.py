"""A plugin that the user names: by a file, by the folder of a package, or by the namespace of an installed one."""

from __future__ import annotations

from pathlib import Path

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.schema import PluginMissing
from ebmkit.registry.loading import LoadedPlugin, Plugins
from ebmkit.registry.spelling import did_you_mean


def plugins_named(path_or_name: str) -> tuple[Plugins, list[LoadedPlugin]]:
    """The plugins of a path, or the installed one of this name, with all its components, and what loaded them.

    Raises PluginMissing or PluginBroken.
    """
    plugins, path = Plugins(), Path(path_or_name)
    if path_or_name in plugins.found():
        return plugins, [plugins.load_whole(path_or_name)]
    if not (path.is_dir() or (path.suffix == ".py" and path.exists())):
        raise _missing(path_or_name, plugins)
    try:
        plugins = Plugins([path_or_name])
    except (EbmkitError, Mistakes) as error:
        for mistake in error.mistakes if isinstance(error, Mistakes) else [error]:
            mistake.place = None  # that of an option which was not used; the message names the file
        raise
    return plugins, list(plugins.loaded.values())


def _missing(name: str, plugins: Plugins) -> PluginMissing:
    if Path(name).exists():
        return PluginMissing(f"'{name}' is neither a Python file nor the folder of a package")
    if Path(name).name != name or Path(name).suffix:
        return PluginMissing(f"there is no file or folder '{name}', and no plugin of this name is installed")
    return PluginMissing(
        f"no plugin '{name}' is installed, and there is no folder of this name",
        help=did_you_mean(name, plugins.found())
        or "name a Python file, the folder of a package, or one of those that 'ebmkit plugins' lists",
    )
