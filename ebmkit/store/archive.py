"""Reading a bundle, which is untrusted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import PIECE, make_folder, storing
from ebmkit.storage.expansion import check_expansion
from ebmkit.storage.regular import open_regular
from ebmkit.store.bundle import FORMAT, MANIFEST

#: Maximum number of files, and of bytes of the manifest.
MOST, MOST_BYTES = 100_000, 1 << 24
SHA256 = re.compile(r"[0-9a-f]{64}")


class Archive:
    """A bundle that is open: what its manifest says, and the files that agree with it."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        names = [info.filename for info in archive.infolist()]
        if len(names) > MOST or len(set(names)) < len(names) or MANIFEST not in names:
            raise StorageFailed(f"{path}: not a bundle of ebmkit")
        self.manifest = self._read_manifest()
        #: The hash and the size of each file by its name.
        self.files: dict[str, Any] = self.manifest["files"]
        self.unlisted = sorted(set(names) - set(self.files) - {MANIFEST})

    def _read_manifest(self) -> dict[str, Any]:
        if self._archive.getinfo(MANIFEST).file_size > MOST_BYTES:
            raise StorageFailed(f"{self.path}: its manifest is too large")
        try:
            manifest: dict[str, Any] = json.loads(self._archive.read(MANIFEST))
            wrong = [name for name, of in manifest["files"].items() if not _is_safe(name) or not _is_listed(of)]
            if wrong or not _is_name(manifest["run"]) or not SHA256.fullmatch(manifest["hash"]):
                raise ValueError(f"wrong entries {', '.join(wrong[:3]) or 'run, hash'}")
            if manifest["format"] != FORMAT:
                raise ValueError(f"its format is {manifest['format']!r}, but {FORMAT} is expected")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StorageFailed(f"{self.path}: its manifest is damaged: {error}") from error
        return manifest

    def damaged(self) -> list[str]:
        """The files that are missing or differ from the manifest, in words."""
        return [words for name in self.files if (words := self._damage(name))]

    def _damage(self, name: str) -> str:
        try:
            digest = hashlib.sha256()
            for piece in self._pieces(name):
                digest.update(piece)
        except KeyError:
            return f"{name} is missing"
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            return f"{name}: {error}"
        return "" if digest.hexdigest() == self.files[name]["sha256"] else f"{name} has another hash"

    def _pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file, of at most the size in the manifest."""
        info, size = self._archive.getinfo(name), self.files[name]["bytes"]
        if info.file_size != size:
            raise ValueError(f"has {info.file_size:,} bytes, but the manifest says {size:,}")
        check_expansion(size, info.compress_size, "it is not read")
        with self._archive.open(info) as file:
            yield from iter(lambda: file.read(PIECE), b"")

    def unpack(self, folder: Path) -> None:
        """Write the files, whose hashes have been compared, to a new folder."""
        with storing(folder):
            folder.mkdir(parents=True)
        for name in self.files:
            path = folder / name
            make_folder(path.parent)
            with storing(path), path.open("xb") as file:
                file.writelines(self._pieces(name))


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a bundle. Raises `StorageFailed` if it is none."""
    with storing(path), open_regular(path) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise StorageFailed(f"{path}: not a bundle of ebmkit: {error}") from error
        with archive:
            yield Archive(path, archive)


def _is_safe(name: Any) -> bool:
    """Whether a name leads to a file inside of a folder, on every system."""
    if not isinstance(name, str) or not name or len(name) > 1000 or any(letter in name for letter in '\\:\0*?"<>|'):
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and path.as_posix() == name and not any(_is_hidden(part) for part in path.parts)


def _is_hidden(part: str) -> bool:
    return part.startswith(".") or part != part.strip() or os.sep in part


def _is_name(name: Any) -> bool:
    return _is_safe(name) and "/" not in name


def _is_listed(of: Any) -> bool:
    whole = isinstance(of, dict) and type(of.get("bytes")) is int and of["bytes"] >= 0
    return whole and isinstance(of.get("sha256"), str) and bool(SHA256.fullmatch(of["sha256"]))
