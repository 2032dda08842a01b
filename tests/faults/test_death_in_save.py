"""Death behind every operation of a save: there is the old checkpoint or the new one, and never a third thing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.checkpoint import Saved
from ebmkit.storage.atomic import LEFT, sweep, write_bytes

from .deaths import Disk

EXPERIMENT = "e" * 64


def state(step: int) -> Saved:
    """What a run may hold at a step."""
    rng = torch.Generator().manual_seed(step)
    groups = {name: {"x": torch.randn(5, generator=rng)} for name in ("model", "mean", "extras", "optimizer")}
    random = {"objective": rng.get_state()}
    return Saved(step, {**groups, "random": random}, {"stage": 0, "history": {"records": [[step, {"loss": 0.5}]]}})


def save(step: int, keep: int) -> None:
    """What `Checkpointer.save` does."""
    checkpoint.save(Path("checkpoints"), EXPERIMENT, state(step))
    checkpoint.prune(Path("checkpoints"), keep, step)


def latest() -> Saved | None:
    return checkpoint.latest(Path("checkpoints"), EXPERIMENT, lambda line: None)


def is_state(saved: Saved | None, step: int) -> bool:
    """Whether it is that of a step, bit for bit, and no mixture."""
    expected = state(step)
    return (
        saved is not None
        and (saved.step, saved.values) == (step, expected.values)
        and saved.tensors.keys() == expected.tensors.keys()
        and all(
            torch.equal(saved.tensors[group][name], tensor)
            for group, tensors in expected.tensors.items()
            for name, tensor in tensors.items()
        )
    )


def first() -> None:
    """Nothing was saved before."""


def one_before() -> None:
    save(3, keep=2)


def two_before() -> None:
    save(0, keep=2)
    save(3, keep=2)


def a_damaged_one_of_the_step() -> None:
    save(3, keep=2)
    save(6, keep=2)
    (Path("checkpoints") / "step-000006" / "mean.safetensors").write_bytes(b"what is this")


def damaged_ones_beyond() -> None:
    save(3, keep=3)
    for step in (9, 12):
        save(step, keep=3)
        (Path("checkpoints") / f"step-{step:06d}" / "state.json").unlink()


def the_same_one() -> None:
    save(3, keep=2)
    save(6, keep=2)


def what_others_left() -> None:
    """Of processes that died before, one of which had the number that ours has."""
    save(3, keep=2)
    for name in (f".step-000006.{os.getpid()}", ".step-000006.1", ".step-000003.deleted", ".step-000000.deleted"):
        (Path("checkpoints") / name).mkdir()
        (Path("checkpoints") / name / "model.safetensors").write_bytes(b"half of i")


BEFORE = [first, one_before, two_before, a_damaged_one_of_the_step, damaged_ones_beyond, the_same_one, what_others_left]


@pytest.fixture(autouse=True)
def hasty(monkeypatch) -> None:
    """What is done before and behind a death is not synced, which takes milliseconds each time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def workplace(tmp_path, monkeypatch) -> Callable[[int], None]:
    """A new empty folder for every death."""

    def enter(number: int) -> None:
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))

    return enter


#: How many checkpoints are kept, and whether the power fails too. The first is the hardest.
WAYS = [
    pytest.param(1, True, id="keep1-power"),
    pytest.param(2, False, id="keep2-process", marks=pytest.mark.long),
    pytest.param(1, False, id="keep1-process", marks=pytest.mark.long),
    pytest.param(2, True, id="keep2-power", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("keep", "power"), WAYS)
@pytest.mark.parametrize("before", BEFORE, ids=lambda before: before.__name__)
def test_there_is_the_old_one_or_the_new_one(before, keep, power, workplace):
    ends = []
    for deadline in range(1, 1000):
        workplace(deadline)
        before()
        old = latest()
        with Disk(deadline, power=power) as disk:
            save(6, keep)
        found = latest()
        assert is_state(found, 6) or (is_state(found, old.step) if old else found is None), f"operation {deadline}"
        ends.append(found.step if found else None)

        # Whoever goes on finds a folder in which it works, and leaves it clean.
        sweep(Path.cwd())
        save(6, keep)
        assert is_state(latest(), 6)
        save(9, keep)
        assert is_state(latest(), 9)
        steps = [6, 9][-keep:]
        assert sorted(path.name for path in Path("checkpoints").iterdir()) == [f"step-{step:06d}" for step in steps]
        if not disk.dead:
            break
    assert not disk.dead
    assert ends == sorted(ends, key=lambda step: -1 if step is None else step)  # once it is there it stays
    assert ends[-1] == 6
    if before is not the_same_one:
        assert len(ends) > 40  # six files: opened, written in halves, synced, renamed, their folder synced
        assert ends[0] == (old.step if old else None)


@pytest.mark.parametrize("power", [False, True], ids=["process", "power"])
def test_a_file_is_the_old_one_or_the_new_one(power, workplace):
    for deadline in range(1, 100):
        workplace(deadline)
        path = Path("run.json")
        path.write_bytes(b"old and whole")
        with Disk(deadline, power=power) as disk:
            write_bytes(path, b"new and just as whole")
        assert path.read_bytes() in (b"old and whole", b"new and just as whole")
        if not disk.dead:
            assert path.read_bytes() == b"new and just as whole"
            break
    assert deadline > 6


def test_only_our_own_leavings_are_swept_up(tmp_path):
    ours = [".run.json.123", ".metrics.jsonl.7", "samples/.samples.safetensors.99", "checkpoints/.step-000003.deleted"]
    others = [".lock", ".hidden", "notes.123", "samples/x.1.safetensors", "checkpoints/step-000003", "a/b/.c.1"]
    for name in ours + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "checkpoints" / ".step-000003.4242").mkdir()
    (tmp_path / "checkpoints" / ".step-000003.4242" / "model.safetensors").write_text("")
    (tmp_path / ".loop.1").symlink_to(tmp_path)
    sweep(tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(others)
    assert not any(LEFT.fullmatch(path.name) for path in tmp_path.glob("**/.s*"))
