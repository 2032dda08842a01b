"""Writing a new package."""

from __future__ import annotations

import os
from pathlib import Path

from ebmkit.scaffold.names import Names
from ebmkit.scaffold.templates import package_files
from ebmkit.storage.atomic import make_folder, move_folder, remove_folder, write_text


def write_package(names: Names, parent: Path) -> Path:
    """Write a package with one component into a new folder, all of it or nothing. Raises a ValueError if it exists."""
    folder = parent / names.distribution
    if folder.exists() or folder.is_symlink():
        raise ValueError(f"{folder} exists; choose another name, or add a component to it: ebmkit new component")
    make_folder(parent)
    unfinished = parent / f".{names.distribution}.{os.getpid()}"
    try:
        for path, text in package_files(names).items():
            make_folder((unfinished / path).parent)
            write_text(unfinished / path, text)
        move_folder(unfinished, folder)
    finally:
        if unfinished.exists():
            remove_folder(unfinished)
    return folder
