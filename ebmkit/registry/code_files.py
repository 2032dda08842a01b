"""The code of a plugin that is not imported: where it is, and its digest."""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path

from ebmkit.registry.importing import Unusable, digest


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
        return digest(str(file)) if file else None
    except (OSError, Unusable):
        return None
