"""Two thousand damaged checkpoints, of which each is noticed, and the one before it used."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import save as save_tensors

from ebmkit import load_spec
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.checkpoint import MANIFEST, Saved
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.limit import Limit
from ebmkit.engine.sampling import view_of
from ebmkit.errors import Mistakes
from ebmkit.errors.running import Drifted, StorageFailed
from tests.drawn import resume, run

from .specs import SHORT

OLD, NEW = "step-000006", "step-000009"


@pytest.fixture(scope="module")
def paused(tmp_path_factory):
    """A run that was left behind step 9, with the checkpoint of step 6 beside that of step 9."""
    record = run(load_spec(SHORT), runs_dir=tmp_path_factory.mktemp("runs"), limit=Limit(steps=9))
    assert sorted(path.name for path in (record.folder / "checkpoints").iterdir()) == [OLD, NEW]
    return record


@pytest.fixture
def checkpoints(paused, tmp_path) -> Path:
    """A copy of both, to be damaged."""
    shutil.copytree(paused.folder / "checkpoints", tmp_path / "checkpoints")
    return tmp_path / "checkpoints"


@pytest.fixture(autouse=True)
def nothing_is_unpickled(monkeypatch):
    """Whatever a file holds."""

    def refuse(*arguments, **options):
        raise AssertionError("somebody unpickles")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)


# How files are damaged. Each is given the folders of the two checkpoints and dice, and tells what its victim is called.


def _victim(new: Path, dice: random.Random) -> Path:
    return dice.choice(sorted(new.iterdir()))


def flip(old: Path, new: Path, dice: random.Random) -> str:
    """One bit, anywhere."""
    victim = _victim(new, dice)
    content = bytearray(victim.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    victim.write_bytes(content)
    return victim.name


def truncate(old: Path, new: Path, dice: random.Random) -> str:
    victim = _victim(new, dice)
    os.truncate(victim, dice.randrange(victim.stat().st_size))
    return victim.name


def zero_the_tail(old: Path, new: Path, dice: random.Random) -> str:
    """As a file system does that had room for a file but not yet its content."""
    victim = _victim(new, dice)
    content = victim.read_bytes()
    kept = content[: dice.randrange(len(content.rstrip(b"\0")))]
    victim.write_bytes(kept.ljust(len(content), b"\0"))
    return victim.name


def append(old: Path, new: Path, dice: random.Random) -> str:
    victim = _victim(new, dice)
    with victim.open("ab") as file:
        file.write(dice.choice([b"\0", b"\n", b" ", b"{}", dice.randbytes(dice.randrange(1, 100))]))
    return victim.name


def empty(old: Path, new: Path, dice: random.Random) -> str:
    victim = _victim(new, dice)
    victim.write_bytes(b"")
    return victim.name


def remove(old: Path, new: Path, dice: random.Random) -> str:
    victim = _victim(new, dice)
    victim.unlink()
    return victim.name


def take_from_the_other(old: Path, new: Path, dice: random.Random) -> str:
    """One file, or the manifest, is that of the older checkpoint."""
    others = [path for path in sorted(new.iterdir()) if path.read_bytes() != (old / path.name).read_bytes()]
    victim = dice.choice(others)
    victim.write_bytes((old / victim.name).read_bytes())
    return NEW if victim.name == MANIFEST else victim.name  # a sound manifest, in the wrong place


def swap_two(old: Path, new: Path, dice: random.Random) -> str:
    """Two files of one checkpoint under each other's names."""
    one, other = dice.sample(sorted(new.iterdir()), 2)
    content, others = one.read_bytes(), other.read_bytes()
    one.write_bytes(others)
    other.write_bytes(content)
    return ""


def rename(old: Path, new: Path, dice: random.Random) -> str:
    """The folder, so that it pretends to be of another step."""
    name = f"step-{dice.choice([7, 8, 10, 999999, 1234567, 10**12]):06d}"
    new.rename(new.with_name(name))
    return name


def a_folder_instead(old: Path, new: Path, dice: random.Random) -> str:
    victim = _victim(new, dice)
    victim.unlink()
    victim.mkdir()
    return victim.name


def a_link_instead(old: Path, new: Path, dice: random.Random) -> str:
    """To itself, or to nothing."""
    victim = _victim(new, dice)
    victim.unlink()
    victim.symlink_to(dice.choice([victim.name, "nothing"]))
    return victim.name


def a_file_instead_of_all(old: Path, new: Path, dice: random.Random) -> str:
    shutil.rmtree(new)
    if dice.random() < 0.5:
        new.write_bytes(b"a file")
    else:
        new.symlink_to(dice.choice([new.name, "nothing"]))
    return NEW


class Bomb:
    """What unpickles to a deed."""

    def __reduce__(self):
        return os._exit, (99,)


def a_pickle_instead(old: Path, new: Path, dice: random.Random) -> str:
    victim = _victim(new, dice)
    victim.write_bytes(pickle.dumps(Bomb()))
    return victim.name


DAMAGES: list[tuple[Callable[[Path, Path, random.Random], str], int]] = [
    (flip, 1000),
    (truncate, 200),
    (zero_the_tail, 200),
    (append, 100),
    (empty, 50),
    (remove, 70),
    (take_from_the_other, 100),
    (swap_two, 100),
    (rename, 30),
    (a_folder_instead, 50),
    (a_link_instead, 50),
    (a_file_instead_of_all, 20),
    (a_pickle_instead, 30),
]


@pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.long)], ids=["a fifth", "all"])
@pytest.mark.parametrize(("damage", "times"), DAMAGES, ids=lambda value: getattr(value, "__name__", None))
def test_damage_is_noticed_and_the_checkpoint_before_is_used(damage, times, share, checkpoints, paused):
    old, new, experiment = checkpoints / OLD, checkpoints / NEW, paused.plan.hash
    kept = {path.name: path.read_bytes() for path in new.iterdir()}
    expected = checkpoint.read(old, experiment)
    dice, seen = random.Random(f"{damage.__name__}"), Counter[str]()
    for _ in range(times // share):
        victim = damage(old, new, dice)
        said: list[str] = []
        found = checkpoint.latest(checkpoints, experiment, said.append)
        assert same(found, expected), victim
        assert len(said) == 1
        assert victim in said[0], said
        assert "going back to step 6" in said[0]
        seen[victim] += 1
        _mend(checkpoints, kept)
    assert checkpoint.latest(checkpoints, experiment, pytest.fail).step == 9
    assert len(seen) > 1 or damage in (swap_two, a_file_instead_of_all)


def test_two_thousand_are_damaged():
    assert sum(times for _, times in DAMAGES) == 2000


def same(one: Saved | None, other: Saved) -> bool:
    """Bit for bit."""
    return (
        one is not None
        and (one.step, one.values) == (other.step, other.values)
        and {group: save_tensors(tensors) for group, tensors in one.tensors.items()}
        == {group: save_tensors(tensors) for group, tensors in other.tensors.items()}
    )


def _mend(checkpoints: Path, kept: dict[str, bytes]) -> None:
    for path in checkpoints.iterdir():
        if path.name != OLD:
            path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path)
    (checkpoints / NEW).mkdir()
    for name, content in kept.items():
        (checkpoints / NEW / name).write_bytes(content)


# What else there is in a run ------------------------------------------------------------------------------------------


@pytest.fixture
def copy(paused, tmp_path) -> Path:
    """A copy of the run, to be damaged."""
    shutil.copytree(paused.folder, tmp_path / "run")
    return tmp_path / "run"


def go_on(folder: Path, said: list[str] | None = None, **options):
    """Resume, and keep what is said."""
    from ebmkit.engine.telling.progress import Silent

    progress = Silent()
    if said is not None:
        progress.say = said.append
    return resume(load_spec(folder / "resolved.yaml"), folder, progress=progress, **options)


def test_a_run_goes_on_from_the_one_before_and_says_so(copy, undrawn, tmp_path):
    undisturbed = run(load_spec(SHORT), runs_dir=tmp_path / "runs").folder
    (copy / "checkpoints" / NEW / "mean.safetensors").write_bytes(b"")
    said: list[str] = []
    go_on(copy, said)
    assert any("mean.safetensors: damaged" in line and "going back to step 6" in line for line in said)
    assert "mean.safetensors: damaged" in (copy / "log.txt").read_text()
    for name in ("metrics.jsonl", "samples/samples.safetensors", "checkpoints/step-000024/manifest.json"):
        assert (copy / name).read_bytes() == (undisturbed / name).read_bytes()


def test_a_checkpoint_that_is_gone_is_missed(copy, undrawn):
    shutil.rmtree(copy / "checkpoints" / NEW)
    said: list[str] = []
    go_on(copy, said, limit=Limit(steps=1))
    assert "warning: the checkpoint of step 9 is unusable; going back to step 6" in said


def test_where_all_are_damaged_the_run_is_not_begun_anew(copy):
    for name in (OLD, NEW):
        (copy / "checkpoints" / name / MANIFEST).unlink()
    before = sorted(path for path in copy.rglob("*"))
    with pytest.raises(StorageFailed, match="there is no valid checkpoint") as caught:
        go_on(copy)
    assert OLD in caught.value.help
    assert NEW in caught.value.help
    assert sorted(path for path in copy.rglob("*")) == before
    assert read_summary(copy)["status"] == "failed"
    with pytest.raises(StorageFailed, match="there is no valid checkpoint"):  # and not that somebody is at it
        go_on(copy)


def test_what_was_damaged_beyond_does_not_push_out_what_is_sound(copy, undrawn):
    """Steps 6 and 9 are damaged; from step 3 on a run makes one step, and leaves. That one must stay."""
    shutil.copytree(copy / "checkpoints" / OLD, copy / "checkpoints" / "step-000003")
    forge(copy / "checkpoints" / "step-000003", step=3)
    for name in (OLD, NEW):
        (copy / "checkpoints" / name / "state.json").write_bytes(b"{}")
    go_on(copy, limit=Limit(steps=1))
    assert sorted(path.name for path in (copy / "checkpoints").iterdir()) == ["step-000003", "step-000004"]


def test_the_files_of_a_run_may_be_damaged_too(copy, paused):
    """A bit of run.json, lock.yaml or resolved.yaml: nothing that matters changed, or it is told what is wrong."""
    dice, told = random.Random(3), Counter[str]()
    for number in range(60):
        name = ("run.json", "lock.yaml", "resolved.yaml")[number % 3]
        content = (paused.folder / name).read_bytes()
        damaged = bytearray(content)
        damaged[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        (copy / name).write_bytes(damaged)
        with suppress(StorageFailed, Drifted, Mistakes):
            go_on(copy, limit=Limit(steps=1))
            told[name] -= 1
        told[name] += 1
        shutil.rmtree(copy)
        shutil.copytree(paused.folder, copy)
    assert min(told[name] for name in ("run.json", "lock.yaml", "resolved.yaml")) > 2


# Checkpoints whose hashes are right, because somebody meant it -------------------------------------------------------


def forge(folder: Path, step: object = 9, experiment: object = None, hashes: object = None) -> None:
    """Write a manifest that fits what is there, apart from what is given."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    content = {
        "experiment": manifest["experiment"] if experiment is None else experiment,
        "step": step,
        "sha256": hashes
        if hashes is not None
        else {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir())
            if path.name != MANIFEST
        },
    }
    own = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps({**content, "manifest_sha256": own}, indent=2) + "\n")


HASH = hashlib.sha256(b"secret").hexdigest()

FORGED = {
    "a path that leads out": partial(forge, hashes={"../../secret": HASH}),
    "an absolute path": partial(forge, hashes={"/etc/passwd": HASH}),
    "the folder above": partial(forge, hashes={"..": HASH}),
    "no name": partial(forge, hashes={"": HASH}),
    "a name with a zero": partial(forge, hashes={"model\0.safetensors": HASH}),
    "half a letter": partial(forge, hashes={"\ud800.safetensors": HASH}),
    "nothing": partial(forge, hashes={}),
    "a list of hashes": partial(forge, hashes=["state.json"]),
    "hashes that are numbers": partial(forge, hashes={"state.json": 7}),
    "a step that is a word": partial(forge, step="9"),
    "a step that is a fraction": partial(forge, step=9.0),
    "a step that is true": partial(forge, step=True),
    "a step below zero": partial(forge, step=-1),
    "an experiment that is a list": partial(forge, experiment=["x"]),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_manifest_is_refused(forged, checkpoints, paused):
    (checkpoints.parent / "secret").write_bytes(b"secret")
    FORGED[forged](checkpoints / NEW)
    said: list[str] = []
    assert checkpoint.latest(checkpoints, paused.plan.hash, said.append).step == 6
    assert len(said) == 1


CONTENTS = {
    "no JSON": ("state.json", b"{"),
    "a list": ("state.json", b"[1, 2]"),
    "an empty object": ("state.json", b"{}"),
    "nothing in nothing": ("state.json", b"[" * 100_000),
    "a stage too many": ("state.json", {"stage": 7}),
    "no stage": ("state.json", {"stage": None}),
    "a history that is none": ("state.json", {"history": [1]}),
    "a history of words": ("state.json", {"history": {"step": 1, "records": "abc", "collected": []}}),
    "an optimizer of another": ("state.json", {"optimizer": {"x.y": 1}}),
    "no tensors": ("model.safetensors", b"not at all"),
    "a header without end": ("model.safetensors", (2**63).to_bytes(8, "little") + b"{}"),
    "tensors of another model": ("model.safetensors", save_tensors({"weight": torch.zeros(3)})),
    "a running mean of another model": ("mean.safetensors", save_tensors({"weight": torch.zeros(3)})),
    "generators of words": ("random.safetensors", save_tensors({"objective": torch.zeros(3)})),
    "a generator too short": ("random.safetensors", save_tensors({"objective": torch.zeros(3, dtype=torch.uint8)})),
    "moments of nobody": ("optimizer.safetensors", save_tensors({"words": torch.zeros(3)})),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_forged_content_is_a_storage_error_and_nothing_else(content, copy, undrawn):
    """Its hashes are right, so there is no going back: the run says what does not fit, or passes it over."""
    folder = copy / "checkpoints" / NEW
    name, forged = CONTENTS[content]
    if isinstance(forged, dict):
        forged = json.dumps({**json.loads((folder / name).read_bytes()), **forged}).encode()
    (folder / name).write_bytes(forged)
    forge(folder)
    said: list[str] = []
    with suppress(StorageFailed):
        view_of(load_spec(copy / "resolved.yaml"), copy, say=said.append)
    try:
        go_on(copy, said, limit=Limit(steps=1))
    except StorageFailed as error:
        said.append(error.message)
    assert any("not a checkpoint of ebmkit" in line or "does not fit the spec" in line for line in said)
