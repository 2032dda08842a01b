"""Comparing two runs bit for bit."""

from __future__ import annotations

from pathlib import Path

from ebmkit.engine.folder import checkpoint
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.reading import read_whole


def compare(one: Path, other: Path) -> dict[str, bool]:
    """The files of two finished runs by name, and whether they are equal to the last bit."""
    before, after = _kept(one), _kept(other)
    return {name: _bytes(before.get(name)) == _bytes(after.get(name)) for name in sorted(before.keys() | after.keys())}


def _kept(run: Path) -> dict[str, Path]:
    """The last checkpoint, the numbers and the samples."""
    folders = checkpoint.found(run / "checkpoints")
    if not folders:
        raise StorageFailed(f"{run}: it has no checkpoint")
    files = {f"checkpoint {path.name}": path for path in folders[-1].iterdir()}
    files |= {f"samples {path.name}": path for path in run.glob("samples/*.safetensors")}
    return files | {path.name: path for path in run.glob("metrics.jsonl")}


def _bytes(path: Path | None) -> bytes | None:
    return None if path is None else read_whole(path)
