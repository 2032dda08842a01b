"""Hostile run folders: an honest one, with damage that readers notice early or late."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ebmkit.engine.folder.checkpoint import MANIFEST, VALUES, _manifest
from ebmkit.errors.source import Source
from ebmkit.language.text import parse
from ebmkit.language.yaml_writer import yaml_text

from . import files, trees

#: Runs of three steps: a training, and a sampling experiment.
SPECS: list[dict[str, Any]] = [
    {
        "ebmkit": 1,
        "name": "small",
        "data": "rings",
        "model": {"use": "mlp", "hidden": [4]},
        "objective": {"use": "mle", "init": {"use": "replay", "size": 8}, "sampler": {"use": "langevin", "steps": 1}},
        "train": {"steps": 3, "batch_size": 4, "ema": 0.9},
        "sampler": {"use": "langevin", "steps": 1},
        "samples": 4,
        "evaluate": [{"use": "sliced_wasserstein", "samples": 4, "directions": 2}],
        "expect": [{"metric": "sliced_wasserstein", "below": 1e9}],
        "checkpoint": {"every": 1, "keep": 2},
    },
    {
        "ebmkit": 1,
        "name": "chains",
        "model": {"use": "gaussian", "mean": [0, 0, 0]},
        "sampler": "langevin",
        "chains": {"count": 2},
        "samples": 8,
    },
]

SUSPECTS = ["run.json", "lock.yaml", "resolved.yaml", "spec.yaml", "log.txt", "metrics.jsonl", ".lock", "report.html"]


def _any_file(folder: Path, rng: random.Random) -> Path:
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return rng.choice(found) if found else folder / "run.json"


def _checkpoint(folder: Path, rng: random.Random) -> Path | None:
    found = sorted(path for path in (folder / "checkpoints").glob("step-*") if path.is_dir() and not path.is_symlink())
    return rng.choice(found[-1:] * 3 + found) if found else None


def damage_bytes(folder: Path, rng: random.Random) -> None:
    path = _any_file(folder, rng)
    content = path.read_bytes()
    if content:
        path.write_bytes(rng.choice(files.DAMAGE)(content, rng))


def mutate_json(folder: Path, rng: random.Random) -> None:
    path = folder / "run.json"
    if path.is_file() and not path.is_symlink():
        tree = json.loads(path.read_text(errors="replace"))
        path.write_text(json.dumps(trees.mutated(tree, [tree, {"x": trees.VALUES}], rng)), errors="backslashreplace")


def absurd_json(folder: Path, rng: random.Random) -> None:
    path = rng.choice([folder / "run.json", *folder.glob("checkpoints/*/*.json")])
    if path.is_file():
        path.write_text(
            rng.choice(
                [
                    "[" * 100000,
                    '{"a":' * 100000,
                    "9" * 9000,
                    "null",
                    "[]",
                    "{}",
                    '"x"',
                    "NaN",
                    "{" + "}" * 9,
                    "\ufeff{}",
                    '{"format": 2}',
                    '{"format": 1e999}',
                    '{"sittings": []}',
                    '{"format": true}',
                    "[" + "[]," * 200000 + "1]",
                ]
            )
        )


def mutate_yaml(folder: Path, rng: random.Random) -> None:
    path = folder / rng.choice(["lock.yaml", "lock.yaml", "resolved.yaml", "resolved.yaml", "spec.yaml"])
    if path.is_file() and not path.is_symlink():
        try:
            tree = parse(Source("x", path.read_text(errors="replace"))).plain()
            mutated = trees.mutated(tree, [tree, SPECS[0], SPECS[1]], rng)
            path.write_text(yaml_text(mutated, {}), errors="backslashreplace")
        except Exception:  # damaged before
            path.write_text("x: &x [*x]\n")


def mutate_state(folder: Path, rng: random.Random) -> None:
    """The values of a checkpoint, with right hashes, so that they are read."""
    if checkpoint := _checkpoint(folder, rng):
        path = checkpoint / VALUES
        if path.is_file():
            tree = json.loads(path.read_text(errors="replace"))
            path.write_text(json.dumps(trees.mutated(tree, [tree], rng)), errors="backslashreplace")
            forge(checkpoint)


def mutate_tensors(folder: Path, rng: random.Random) -> None:
    """The tensors of a checkpoint or the samples, with right hashes."""
    import torch
    from safetensors.torch import load, save

    checkpoint = _checkpoint(folder, rng)
    found = [*folder.glob("samples/*.safetensors"), *(checkpoint.glob("*.safetensors") if checkpoint else ())]
    if not found:
        return
    path = rng.choice(found)
    try:
        tensors = load(path.read_bytes())
    except Exception:  # damaged before
        return
    if tensors:
        name = rng.choice(sorted(tensors))
        tensor = tensors[name]
        changes: list[Callable[[], Any]] = [
            lambda: tensors.pop(name),
            lambda: tensors.update({name: tensor.flatten()}),
            lambda: tensors.update({name: tensor[:0] if tensor.dim() else tensor[None]}),
            lambda: tensors.update({name: tensor.double() if tensor.is_floating_point() else tensor.float()}),
            lambda: tensors.update({name: torch.full_like(tensor, torch.nan if tensor.is_floating_point() else -1)}),
            lambda: tensors.update({name: torch.full_like(tensor, 1e30 if tensor.is_floating_point() else 99)}),
            lambda: tensors.update({f"{name}x": tensors.pop(name)}),
            lambda: tensors.update({"more": torch.zeros(3)}),
            lambda: tensors.update({name: torch.zeros(*tensor.shape, 2)}),
            lambda: tensors.update({name: tensor.to(torch.complex64)}),
        ]
        rng.choice(changes)()
    path.write_bytes(save(tensors) if rng.random() < 0.8 else files.lying_safetensors(rng))
    if checkpoint and path.parent == checkpoint:
        forge(checkpoint)


def forge(checkpoint: Path) -> None:
    """A manifest with the hashes of what is there."""
    names = sorted(path.name for path in checkpoint.iterdir() if path.is_file() and path.name != MANIFEST)
    hashes = {name: hashlib.sha256((checkpoint / name).read_bytes()).hexdigest() for name in names}
    try:
        before = json.loads((checkpoint / MANIFEST).read_text(errors="replace"))
        (checkpoint / MANIFEST).write_bytes(_manifest(before["experiment"], before["step"], hashes))
    except (OSError, ValueError, TypeError, KeyError):  # damaged before
        return


def mutate_manifest(folder: Path, rng: random.Random) -> None:
    """Other names, steps and experiments, with a right hash of itself."""
    if checkpoint := _checkpoint(folder, rng):
        path = checkpoint / MANIFEST
        try:
            content = json.loads(path.read_text())
        except (OSError, ValueError):
            return
        content.pop("manifest_sha256", None)
        content = trees.mutated(content, [content, {"sha256": {"../../spec.yaml": "0" * 64, "/etc/passwd": "x"}}], rng)
        own = hashlib.sha256(json.dumps(content).encode("utf-8", "backslashreplace")).hexdigest()
        content = {**content, "manifest_sha256": own} if isinstance(content, dict) else content
        path.write_text(json.dumps(content, indent=2) + "\n", errors="backslashreplace")


def special(folder: Path, rng: random.Random) -> None:
    """A link, a pipe, a folder or a file of holes in place of a file."""
    names = [folder / name for name in (*SUSPECTS, "samples", "plots", "checkpoints", "new", ".owner", "samples/new")]
    path = rng.choice([*names, _any_file(folder, rng)])
    _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if rng.random() < 0.4:
        outside = folder.parent / "outside"
        path.symlink_to(rng.choice([outside, outside / "file", outside / "new", "/dev/zero", "/etc/passwd", ".", ".."]))
    else:
        files.not_a_file(path, rng)


def remove(folder: Path, rng: random.Random) -> None:
    _remove(
        rng.choice([_any_file(folder, rng), folder / rng.choice(SUSPECTS), folder / "checkpoints", folder / "samples"])
    )


def exchange(folder: Path, rng: random.Random) -> None:
    """A file under the name of another."""
    one, other = _any_file(folder, rng), _any_file(folder, rng)
    shutil.copy(one, folder / "between")
    shutil.copy(other, one)
    (folder / "between").replace(other)


def rename_checkpoint(folder: Path, rng: random.Random) -> None:
    if checkpoint := _checkpoint(folder, rng):
        name = rng.choice(["step-000000", "step-000099", "step-3", "step-٣", f"step-{'9' * 200}", "step-", "other"])
        if not os.path.lexists(checkpoint.with_name(name)):
            checkpoint.rename(checkpoint.with_name(name))


def more_files(folder: Path, rng: random.Random) -> None:
    """Files that a reader may come across."""
    match rng.choice(["steps", "leftovers", "deep", "many", "names", "owner", "code"]):
        case "steps":
            (folder / "samples").mkdir(exist_ok=True)
            (folder / "samples" / "step-000002.safetensors").write_bytes(files.lying_safetensors(rng))
        case "leftovers":
            (folder / ".run.json.123").mkdir(exist_ok=True)
            (folder / ".x.deleted").write_text("x")
        case "deep":
            path = str(folder)
            for _ in range(1200):  # one by one: `mkdir` with `parents` calls itself for each
                path += "/a"
                Path(path).mkdir(exist_ok=True)
        case "many":
            for count in range(2000):
                (folder / f"{count}").touch()
        case "names":
            (folder / os.fsdecode(b"\xff\xfe")).write_text("x")
            (folder / "\x1b[2J\n").write_text("x")
        case "owner":
            (folder / ".owner").write_text(rng.choice(["", "{}", '{"host": "x", "pid": 1, "started": ""}', "[" * 9999]))
        case "code":
            for name in ("sitecustomize.py", "torch.py", "ebmkit.py", "conftest.py"):
                (folder / name).write_text("raise SystemExit('executed')")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


DAMAGE: list[Callable[[Path, random.Random], None]] = [
    *(
        damage_bytes,
        mutate_json,
        mutate_json,
        absurd_json,
        mutate_yaml,
        mutate_yaml,
        mutate_state,
        mutate_state,
        remove,
    ),
    *(mutate_tensors, mutate_tensors, mutate_manifest, special, special, exchange, rename_checkpoint, more_files),
]


def damage(folder: Path, rng: random.Random) -> list[str]:
    """One or two kinds of damage; returns their names."""
    done = []
    for _ in range(rng.choice([1, 1, 2])):
        kind = rng.choice(DAMAGE)
        done.append(kind.__name__)
        try:
            kind(folder, rng)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # on something that is damaged already
            continue
    return done
