"""Checkpoint files: safetensors and JSON, with a manifest of hashes. Without a valid manifest they are ignored."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import make_folder, move_folder, remove_folder, storing, write_bytes
from ebmkit.storage.reading import read_whole

MANIFEST, VALUES, TENSORS = "manifest.json", "state.json", ".safetensors"
#: Maximum number of bytes of a manifest, which has a few hundred.
MOST_BYTES = 1 << 20
NAME = re.compile(r"state\.json|[a-z_]+\.safetensors")


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint: tensors by group and name, and JSON."""

    step: int
    tensors: dict[str, dict[str, Tensor]]
    values: dict[str, Any]


def save(checkpoints: Path, experiment: str, saved: Saved) -> Path:
    """Write a checkpoint to a temporary folder, the manifest last, and then rename it.

    An intact checkpoint of the same step is kept: training is deterministic, so it has the same content.
    """
    folder = checkpoints / f"step-{saved.step:06d}"
    if os.path.lexists(folder):
        with suppress(StorageFailed):
            read(folder, experiment)
            return folder
    temporary = checkpoints / f".{folder.name}.{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process with the same number
    make_folder(temporary)
    try:
        contents = {f"{group}{TENSORS}": save_tensors(_on_host(group_of)) for group, group_of in saved.tensors.items()}
        contents[VALUES] = json.dumps(saved.values, allow_nan=False).encode()
        for name, content in contents.items():
            write_bytes(temporary / name, content)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        write_bytes(temporary / MANIFEST, _manifest(experiment, saved.step, hashes))
        if os.path.lexists(folder):  # only when its replacement is complete
            remove_folder(folder)
        move_folder(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return folder


def read(folder: Path, experiment: str | None) -> Saved:
    """Read a checkpoint and verify its hashes. Raises `StorageFailed` if it is damaged or incomplete.

    It must belong to `experiment`, unless that is None.
    """
    content = read_whole(folder / MANIFEST, MOST_BYTES)
    try:
        manifest = json.loads(content)
        step, hashes = manifest["step"], manifest["sha256"]
        intact = type(step) is int and content == _manifest(manifest["experiment"], step, hashes)
        intact = intact and all(NAME.fullmatch(name) for name in hashes)  # no file outside the folder is read
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        intact = False
    if not intact:
        raise StorageFailed(f"{folder / MANIFEST}: damaged")
    if experiment not in (None, manifest["experiment"]):
        raise StorageFailed(f"{folder}: belongs to another experiment")
    if folder.name != f"step-{step:06d}":
        raise StorageFailed(f"{folder}: holds step {step}")
    contents = {name: read_whole(folder / name) for name in hashes}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != hashes[name]:
            raise StorageFailed(f"{folder / name}: damaged, its hash is not the one in {MANIFEST}")
    try:
        tensors = {
            name.removesuffix(TENSORS): load_tensors(content)
            for name, content in contents.items()
            if name.endswith(TENSORS)
        }
        return Saved(step, tensors, json.loads(contents[VALUES]))
    # Not written by `save`.
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise StorageFailed(f"{folder}: not a checkpoint of ebmkit: {error}") from error


def latest(checkpoints: Path, experiment: str | None, say: Callable[[str], None]) -> Saved | None:
    """The last intact checkpoint, or None if there is none at all. Damaged ones are reported and skipped."""
    damaged: list[str] = []
    for folder in reversed(found(checkpoints)):
        try:
            saved = read(folder, experiment)
        except StorageFailed as error:
            damaged.append(error.message)
            continue
        for message in damaged:
            say(f"warning: {message}; going back to step {saved.step}")
        return saved
    if damaged:
        raise StorageFailed(f"{checkpoints}: there is no valid checkpoint", help="; ".join(damaged))
    return None


def prune(checkpoints: Path, keep: int, step: int) -> None:
    """Delete all but the last `keep` up to `step`. Later ones are damaged, or the run would have used them."""
    folders = found(checkpoints)
    kept = [folder for folder in folders if _step(folder) <= step][-keep:]
    for folder in folders:
        if folder not in kept:
            remove_folder(folder)


def found(checkpoints: Path) -> list[Path]:
    """All checkpoints, intact or not, by increasing step."""
    with storing(checkpoints):
        folders = [path for path in checkpoints.glob("step-*") if path.name.removeprefix("step-").isdecimal()]
    return sorted(folders, key=_step)


def _step(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def _manifest(experiment: str, step: int, hashes: dict[str, str]) -> bytes:
    """The bytes of a manifest, which contains a hash of itself, so that damage is detected."""
    content = {"experiment": experiment, "step": step, "sha256": dict(sorted(hashes.items()))}
    own = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return (json.dumps({**content, "manifest_sha256": own}, indent=2) + "\n").encode()


def _on_host(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    # Copies: safetensors refuses tensors that share memory, such as tied weights.
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
