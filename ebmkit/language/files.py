"""Finds the files that a spec names: next to the spec, or in the working directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.files import LocatedPath, located_in
from ebmkit.contracts.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ebmkit.errors.source import Source
    from ebmkit.language.enclosed import Enclosed
    from ebmkit.language.sections import Spec
    from ebmkit.language.text import Node

#: The key of a resolved spec with the files that were found, so that a run finds them from every working directory.
FILES = "files"


class Finder:
    """Looks for a relative path in the folder of the spec in which it is written, then in the working directory.

    What a flag, a dictionary or the standard input gives is relative to the working directory. A path under `files:` is
    preferred, if it still exists.
    """

    def __init__(self, tree: Node, enclosed: Enclosed) -> None:
        self._enclosed = enclosed
        self._root = _folder(tree.place.source)
        self._folders: dict[str, dict[Path | None, None]] = {}
        for text, source in _strings(tree):
            self._folders.setdefault(text, {})[_folder(source)] = None
        recorded = tree.find([FILES])
        self._recorded: dict[str, Any] = recorded.plain() if recorded and isinstance(recorded.value, dict) else {}

    def locate(self, path: str) -> str:
        """The path with the file that was found. Raises a ValueError if it means two files."""
        if Path(path).is_absolute():
            return path
        if path in self._enclosed.files:
            return LocatedPath(path, self._enclosed.files[path], {}, self._enclosed)
        folders = dict.fromkeys(folder for folder in self._folders.get(path, [self._root]) if folder)
        looked_in = {**dict.fromkeys(folders, "the folder of the spec"), Path.cwd(): "the working directory"}
        if path in self._recorded and _exists(file := Path(str(self._recorded[path]))):
            return LocatedPath(path, file, looked_in)
        found = [folder / path for folder in folders if _exists(folder / path)]
        if len(found) > 1:
            both = " and ".join(map(str, found[:2]))
            raise ValueError(f"'{path}' is written in specs of two folders and means {both}: write absolute paths")
        file = found[0] if found else Path.cwd() / path
        return LocatedPath(path, file if _exists(file) else None, looked_in)


def files_found(spec: Spec) -> dict[str, str]:
    """The relative paths of a spec, and the files that were found, if their names are text that a spec can hold."""
    paths = (path for _, component in walk(spec) for path in located_in(component))
    found = {str(path): str(path.found) for path in paths if path.found}
    return {path: file for path, file in found.items() if file.encode(errors="ignore").decode() == file}


def _strings(node: Node) -> Iterator[tuple[str, Source]]:
    if isinstance(node.value, str):
        yield node.value, node.place.source
    elif isinstance(node.value, (dict, list)):
        for child in node.value.values() if isinstance(node.value, dict) else node.value:
            yield from _strings(child)


def _folder(source: Source) -> Path | None:
    """The folder of a file; None for a flag, a dictionary and the standard input."""
    return Path(source.name).parent.resolve() if _exists(Path(source.name)) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that the system refuses
        return False
