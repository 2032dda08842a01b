"""When memory runs out, the error tells who asked for it, at which line of the spec, and for how much."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from ebmkit import load_spec
from ebmkit.engine.folder import checkpoint
from ebmkit.errors.running import OutOfMemory
from ebmkit.errors.source import Source
from tests.drawn import run

GREEDY = Path(__file__).with_name("greedy.py")

BASE: dict[str, Any] = {
    "ebmkit": 1,
    "name": "greedy",
    "device": "cpu",
    "data": {"use": "two_moons", "size": 64, "test_size": 32},
    "model": {"use": "mlp", "hidden": [4]},
    "objective": "nce",
    "train": {"steps": 6, "batch_size": 16},
    "sampler": {"use": "langevin", "steps": 2},
    "samples": 20,
    "checkpoint": {"every": 2},
}

#: Kind, name and section of each component that asks for too much.
PLACES: list[tuple[str, str, dict[str, Any]]] = [
    ("data", "greedy.points", {"data": {"use": "greedy.points"}}),
    ("model", "greedy.net", {"model": {"use": "greedy.net"}}),
    ("objective", "greedy.loss", {"objective": {"use": "greedy.loss"}}),
    ("objective", "greedy.extras", {"objective": {"use": "greedy.extras"}}),
    ("optimizer", "greedy.descent", {"train": {**BASE["train"], "optimizer": {"use": "greedy.descent"}}}),
    ("init", "greedy.start", {"init": {"use": "greedy.start"}}),
    ("sampler", "greedy.walk", {"sampler": {"use": "greedy.walk"}}),
    ("sampler", "greedy.walk", {"objective": {"use": "mle", "sampler": {"use": "greedy.walk"}}}),
    ("metric", "greedy.number", {"evaluate": [{"use": "greedy.number"}]}),
]

#: What was asked, and how much that is in its own words. Python itself does not tell.
AMOUNTS = {
    "torch": " when allocating 1000000000000000 bytes",
    "numpy": " when allocating 909. TiB",
    "cuda": " when allocating 20.00 GiB",
    "python": "",
}


def plan_of(changes: dict[str, Any]) -> Any:
    text = "".join(f"{name}: {json.dumps(section)}\n" for name, section in {**BASE, **changes}.items())
    return load_spec(Source("greedy.yaml", text), plugins=[str(GREEDY)])


def check(changes: dict[str, Any], kind: str, name: str, how: str, runs: Path) -> None:
    text = json.dumps(changes).replace(f'"{name}"', f'"{name}", "how": "{how}"')
    try:
        (failure,) = run(plan_of(json.loads(text)), runs_dir=runs).failed  # after training the rest stands
        error = failure.error
    except OutOfMemory as caught:
        error = caught
    assert error.message == f"{kind} '{name}' ran out of memory{AMOUNTS[how]}"
    assert (error.code, error.exit_status) == ("E306", 3)
    assert error.place is not None
    assert error.place.source.line(error.place.line)[error.place.column - 1 :].startswith(f'"{name}"')
    assert "greedy.py:" in error.help or kind == "optimizer"  # what it builds is not a method of it


@pytest.mark.parametrize(("kind", "name", "changes"), PLACES)
def test_whoever_asks_for_too_much_is_named(kind, name, changes, tmp_path, undrawn):
    check(changes, kind, name, "torch", tmp_path)


@pytest.mark.parametrize("how", ["numpy", "cuda", "python"])
def test_it_does_not_matter_whom_it_asks(how, tmp_path):
    kind, name, changes = PLACES[2]
    check(changes, kind, name, how, tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    assert json.loads((folder / "run.json").read_text())["status"] == "failed"
    found = checkpoint.found(folder / "checkpoints")
    assert [checkpoint.read(path, None).step for path in found] == [2, 4]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="finds the size of the process in /proc")
def test_a_network_that_is_too_large_for_what_is_left(tmp_path):
    """Nothing is pretended here: the system gives no more than 500 MB."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000, before[1]))
    try:
        with pytest.raises(OutOfMemory, match="model 'mlp' ran out of memory when allocating 1600000000 bytes"):
            run(plan_of({"model": {"use": "mlp", "hidden": [20_000, 20_000]}}), runs_dir=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert not any(tmp_path.iterdir())


def test_a_checkpoint_that_does_not_fit_into_memory_twice(tmp_path, monkeypatch):
    def full(*arguments: Any) -> bytes:
        raise MemoryError

    plan = plan_of({})
    monkeypatch.setattr(checkpoint, "save_tensors", full)
    with pytest.raises(OutOfMemory, match="checkpoint ran out of memory"):
        run(plan, runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    assert not any((folder / "checkpoints").iterdir())
