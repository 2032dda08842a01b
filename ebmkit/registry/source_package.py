"""Plugins that the user names by a path: a Python file, or the folder of a package that need not be installed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ebmkit.errors.describe import describe_error
from ebmkit.errors.schema import PluginMissing
from ebmkit.registry.discovery import Plugin, file_plugin, namespace_trouble, unmet_requirement

#: The version of code that has none.
UNPACKAGED = "unpackaged"


def path_plugins(name: str) -> list[Plugin]:
    """The plugins of a Python file or of a folder: the project that publishes them, or a package alone."""
    path = Path(name)
    if not path.is_dir():
        return [file_plugin(name)]
    if (path / "pyproject.toml").is_file():
        return _of_project(path)
    if (path / "__init__.py").is_file():
        trouble = namespace_trouble(path.resolve().name, "name the folder with")
        module = path.resolve().name
        return [Plugin(module, name, UNPACKAGED, path, trouble, module=module)]
    raise PluginMissing(f"the folder '{name}' has neither a pyproject.toml nor an __init__.py, so it is no plugin")


def source_file(folder: Path, module: str) -> Path | None:
    """The file of the top-level module or package that an entry point names, in the folder of its project."""
    top = module.partition(".")[0]
    if folder.resolve().name == top and (folder / "__init__.py").is_file():
        return folder / "__init__.py"
    for root in (folder / "src", folder):
        for file in (root / top / "__init__.py", root / f"{top}.py"):
            if file.is_file():
                return file
    return None


def _of_project(folder: Path) -> list[Plugin]:
    """A plugin for each entry point in the group `ebmkit` of a pyproject.toml."""
    try:
        content = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PluginMissing(f"'{folder}/pyproject.toml' cannot be read: {describe_error(error)}") from error
    project = _table(content, "project")
    entries = _table(_table(project, "entry-points"), "ebmkit")
    if not entries:
        raise PluginMissing(
            f"'{folder}/pyproject.toml' names no plugin",
            help='add [project.entry-points.ebmkit] with a line: namespace = "module"',
        )
    return [_of_entry(folder, project, namespace, str(value)) for namespace, value in entries.items()]


def _of_entry(folder: Path, project: dict[str, Any], namespace: str, value: str) -> Plugin:
    name, version = str(project.get("name", folder)), str(project.get("version", UNPACKAGED))
    module = value.partition(":")[0].strip()
    requires = project.get("dependencies", [])
    trouble = namespace_trouble(namespace, "a namespace is made of", has_commands=True)
    if not trouble and source_file(folder, module) is None:
        trouble = f"its entry point names the module '{module}', which is neither in '{folder}/src' nor in '{folder}'"
    if not trouble:
        known = "0" if version == UNPACKAGED else version
        trouble = unmet_requirement(known, [str(each) for each in requires] if isinstance(requires, list) else [])
    return Plugin(namespace, name, version, folder, trouble, module=module)


def _table(content: dict[str, Any], key: str) -> dict[str, Any]:
    found = content.get(key)
    return found if isinstance(found, dict) else {}
