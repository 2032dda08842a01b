"""A run in one file: a zip archive of its folder, with a manifest of hashes."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import IO, Any

from ebmkit.contracts.version import __version__
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import PIECE, storing, sync_folder
from ebmkit.storage.regular import open_regular
from ebmkit.store.entry import Entry

MANIFEST, FORMAT = "manifest.json", 1
#: All entries have this time, so that the same run gives the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)
#: Files that compression would not make smaller.
DENSE = {".safetensors", ".png", ".npz", ".zip", ".gz", ".jpg"}


def write_bundle(entry: Entry, out: Path) -> int:
    """Write the run to a new file, and return the number of files in it. Of its checkpoints only the last is included.

    After a crash there is no file or a complete one.
    """
    if os.path.lexists(out):
        raise StorageFailed(f"{out}: exists already")
    if entry.status == "running":
        raise StorageFailed(f"{entry.folder}: a process is working on this run")
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    with storing(out):
        try:
            with temporary.open("xb") as file:
                files = _write(entry, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(out)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(out.parent)
    return len(files)


def _write(entry: Entry, file: IO[bytes]) -> dict[str, Any]:
    files: dict[str, Any] = {}
    with zipfile.ZipFile(file, "w") as archive:
        for path in contents(entry.folder):
            name = path.relative_to(entry.folder).as_posix()
            files[name] = _add(archive, path, name)
        manifest = {
            "format": FORMAT,
            "ebmkit": __version__,
            "run": entry.folder.name,
            "hash": entry.hash,
            "status": entry.status,
            "files": files,
        }
        archive.writestr(_info(MANIFEST), json.dumps(manifest, indent=2) + "\n")
    return files


def contents(folder: Path) -> list[Path]:
    """The files of a run that are bundled: all but hidden ones and earlier checkpoints."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    parts = {path: path.relative_to(folder).parts for path in found}
    steps = {part[1] for part in parts.values() if part[0] == "checkpoints" and len(part) > 2}
    last = max(steps, key=lambda name: (len(name), name), default="")
    return sorted(
        path
        for path, part in parts.items()
        if not any(each.startswith(".") for each in part) and (part[0] != "checkpoints" or part[1] == last)
    )


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> dict[str, Any]:
    """Add a file, and return its hash and size."""
    digest, size = hashlib.sha256(), 0
    with open_regular(path, follow=False) as source, archive.open(_info(name), "w", force_zip64=True) as target:
        while piece := source.read(PIECE):
            digest.update(piece)
            size += len(piece)
            target.write(piece)
    return {"sha256": digest.hexdigest(), "bytes": size}


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, TIME)
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_STORED if Path(name).suffix in DENSE else zipfile.ZIP_DEFLATED
    return info
