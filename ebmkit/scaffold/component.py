"""Adding a component to an existing package."""

from __future__ import annotations

import ast
from pathlib import Path

from ebmkit.registry.source_package import path_plugins, source_file
from ebmkit.scaffold.names import Names, checked_kind, component_name
from ebmkit.scaffold.templates import component_files
from ebmkit.storage.atomic import make_folder, write_text


def add_component(folder: Path, name: str, kind: str) -> list[Path]:
    """Write a component of `kind` into the package in `folder`, and import it where its entry point finds it.

    Raises a ValueError, before anything is written, if a file exists or the package cannot take it. Returns the paths
    that were written, that of the changed file last.
    """
    plugin = path_plugins(str(folder))[0]
    if not (folder / "pyproject.toml").is_file() or plugin.trouble:
        raise ValueError(f"{folder} is not the folder of a package that ebmkit can load: {plugin.trouble or 'a file'}")
    top = plugin.module.partition(".")[0]
    package = source_file(folder, top)
    if package is None or package.name != "__init__.py":
        raise ValueError(f"the plugin of {folder} is the single file '{package}'; make it a folder with an __init__.py")
    names = Names(plugin.distribution, top, plugin.namespace, component_name(name), checked_kind(kind))
    files = {_placed(folder, package.parent, path, top): text for path, text in component_files(names).items()}
    if existing := [path for path in files if path.exists()]:
        raise ValueError(f"{existing[0]} exists; choose another name")
    entry = _entry_file(package, plugin.module)
    edited = with_import(entry.read_text(encoding="utf-8"), names)
    for path, text in files.items():
        make_folder(path.parent)
        write_text(path, text)
    write_text(entry, edited)  # last: without the new files the package would be broken
    return [*files, entry]


def _placed(folder: Path, package: Path, path: str, top: str) -> Path:
    """Where a file of the templates belongs, in a package that may have no `src`."""
    inside = path.removeprefix(f"src/{top}/")
    return folder / path if inside == path else package / inside


def _entry_file(package: Path, module: str) -> Path:
    """The file of the module that the entry point names."""
    inside = package.parent.joinpath(*module.split(".")[1:])
    return inside.with_suffix(".py") if inside != package.parent and not inside.is_dir() else inside / "__init__.py"


def with_import(text: str, names: Names) -> str:
    """The text of a module with an import of the component after its last import, or after its docstring."""
    line = f"from {names.module}.{names.component} import {names.cls} as {names.cls}"
    body = ast.parse(text).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    docstring = body[:1] if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else []
    lines = text.splitlines()
    if imports:
        lines.insert(imports[-1].end_lineno or 0, line)
    else:
        at = (docstring[0].end_lineno or 0) if docstring else 0
        lines[at:at] = ["", line] if at else [line, ""]
    return "\n".join(lines).rstrip("\n") + "\n"
