"""Weights on the disk: safetensors, and a manifest of hashes that is written last."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from ebmkit.build import Parts
from ebmkit.errors.running import StorageFailed
from ebmkit.storage import make_folder, storing, write_bytes, write_json

MANIFEST = "manifest.json"
#: The weights at which the optimizer stands, and their running mean, which is what samples where there is one.
MODEL, MEAN, EXTRAS = "model.safetensors", "mean.safetensors", "extras.safetensors"


def save(run_folder: Path, step: int, parts: Parts) -> Path:
    """Write a checkpoint. Without its manifest it does not count as one."""
    folder = run_folder / "checkpoints" / f"step-{step:06d}"
    make_folder(folder)
    hashes = {}
    for name, module in _modules(parts).items():
        content = save_tensors(_tensors(module))
        write_bytes(folder / name, content)
        hashes[name] = hashlib.sha256(content).hexdigest()
    write_json(folder / MANIFEST, {"step": step, "sha256": hashes})
    return folder


def restore(run_folder: Path, parts: Parts) -> int:
    """Load the last checkpoint into parts that the same spec built, and return its step. Doubtful files are refused."""
    complete = list((run_folder / "checkpoints").glob(f"step-*/{MANIFEST}"))
    if not complete:
        raise StorageFailed(f"{run_folder}: no checkpoint in it")
    folder = max((path.parent for path in complete), key=lambda path: int(path.name.removeprefix("step-")))
    with storing(folder):
        manifest = json.loads((folder / MANIFEST).read_bytes())
    for name, module in _modules(parts).items():
        _load(folder / name, manifest["sha256"].get(name), module)
    return int(manifest["step"])


def _modules(parts: Parts) -> dict[str, nn.Module]:
    """What a checkpoint holds, by file."""
    modules = {MODEL: parts.model, MEAN: parts.mean.module if parts.mean else None, EXTRAS: parts.extras}
    return {name: module for name, module in modules.items() if module is not None}


def _load(path: Path, sha256: str | None, module: nn.Module) -> None:
    with storing(path):
        content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise StorageFailed(f"{path}: damaged, its hash is not the one in {MANIFEST}")
    try:
        module.load_state_dict(load_tensors(content))
    except (SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[-1].strip()
        raise StorageFailed(f"{path}: does not fit what the spec builds: {reason}") from error


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    # Copies, because safetensors refuses tensors that share memory, as tied weights do.
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in module.state_dict().items()}
