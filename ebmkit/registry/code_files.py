"""The files of a plugin's code: where they are, without importing it, and their digest."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from pathlib import Path


def code_file(module: str) -> Path | None:
    """The file of the top-level package or module that an entry point names, as an import would find it.

    None where only an import can tell: a package without `__init__.py`, or a finder of its own.
    """
    top = module.partition(":")[0].strip().partition(".")[0]
    try:
        found = PathFinder.find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None or not found.has_location or not str(found.origin).endswith(".py"):
        return None
    return Path(str(found.origin))


def code_digest(file: Path | None) -> str | None:
    """SHA-256 over the Python files of the package or module; None if they cannot be read."""
    try:
        return digest(file) if file else None
    except OSError:
        return None


def digest(file: Path) -> str:
    """SHA-256 over the Python files of a package (`.../__init__.py`) or module (`.../thing.py`). Raises OSError."""
    import hashlib

    names = _python_files(str(file.parent)) if file.name == "__init__.py" else [(file.name,)]
    digest = hashlib.sha256()
    for parts in names:
        content = file.parent.joinpath(*parts).read_bytes()
        digest.update("/".join(parts).encode() + b"\0" + content + b"\0")
    return digest.hexdigest()


def _python_files(folder: str, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The Python files below a folder in order, each as the parts of its path; folders that are links are left out."""
    found: list[tuple[str, ...]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += _python_files(entry.path, (*above, entry.name))
            elif entry.name.endswith(".py"):
                found.append((*above, entry.name))
    return found if above else sorted(found)
