"""A run goes on only with what it was begun with; or with leave, and then it is written down."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from ebmkit import load_spec
from ebmkit.cli import group
from ebmkit.engine.folder.record import Record
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.limit import Limit
from ebmkit.errors.running import Drifted, StorageFailed
from tests.drawn import resume, run

from .specs import SHORT

RESTLESS = Path(__file__).with_name("restless.py")


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A run that was left behind step 4, whose data and model come from files, in the folder with those."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(RESTLESS, home / "restless.py")
    rng = np.random.default_rng(0)
    np.savez(home / "points.npz", x=rng.normal(size=(200, 2)))
    spec = deepcopy(SHORT)
    spec["data"] = {"use": "npz", "path": str(home / "points.npz")}
    spec["model"] = {"use": "restless.restless"}
    folder = run(plan_of(home, spec), runs_dir=home / "runs", limit=Limit(steps=4)).folder
    folder.rename(home / "run")
    return home


@pytest.fixture
def home(begun, tmp_path) -> Path:
    """A copy of it, under the same name as before: data are known by their path."""
    kept = tmp_path / "kept"
    shutil.copytree(begun, kept)
    yield begun
    shutil.rmtree(begun)
    shutil.copytree(kept, begun)


def plan_of(home: Path, spec: object = None):
    return load_spec(spec or home / "run" / "resolved.yaml", plugins=[str(home / "restless.py")])


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def edit_the_spec(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    replace(home / "run" / "resolved.yaml", "clip_gradient: 0.3", "clip_gradient: 0.4")
    return "experiment: "


def take_another_number_of_threads(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("ebmkit.engine.process.SMALL", 0)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1})
    return "threads: 1 -> 2"


def take_another_torch(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    replace(home / "run" / "lock.yaml", f'torch: "{torch.__version__}"', 'torch: "2.6.0"')
    return f"packages.torch: 2.6.0 -> {torch.__version__}"


def take_another_ebmkit(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(
        "ebmkit.engine.folder.locked._version", lambda name: torch.__version__ if name == "torch" else "9.9"
    )
    return "-> 9.9"


def take_another_processor(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "ABACUS")
    return "ABACUS"


def edit_the_plugin(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    replace(home / "restless.py", "nn.Dropout(0.2)", "nn.Dropout(0.3)")
    return "plugins.restless.sha256: "


def edit_the_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    with np.load(home / "points.npz") as points:
        content = dict(points)
    content["x"][17, 1] += 1e-6
    np.savez(home / "points.npz", **content)
    return f"data.{home / 'points.npz'}: "


DRIFTS: list[Callable[[Path, pytest.MonkeyPatch], str]] = [
    edit_the_spec,
    take_another_number_of_threads,
    take_another_torch,
    take_another_ebmkit,
    take_another_processor,
    edit_the_plugin,
    edit_the_data,
]


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: drift.__name__)
def test_drift_is_refused_and_with_leave_recorded(drift, home, monkeypatch, undrawn):
    told = drift(home, monkeypatch)
    folder = home / "run"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(Drifted) as caught:
        resume(plan_of(home), folder)
    assert caught.value.code == "E307"
    assert caught.value.exit_status == 3
    assert told in caught.value.message
    assert "--allow-drift" in caught.value.help
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    record = resume(plan_of(home), folder, allow_drift=True)
    assert record.status == "finished"
    sessions = read_summary(folder)["sessions"]
    assert sessions[0]["drift"] == []
    assert len(sessions) == 2
    assert any(told in line for line in sessions[1]["drift"])
    assert sessions[1]["from_step"] == 4  # it did go on


def test_without_drift_nothing_is_refused_or_recorded(home, undrawn):
    resume(plan_of(home), home / "run")
    assert [session["drift"] for session in read_summary(home / "run")["sessions"]] == [[], []]


def test_the_verb_exits_with_3_and_tells_the_difference(home):
    replace(home / "run" / "resolved.yaml", "clip_gradient: 0.3", "clip_gradient: 0.4")
    arguments = ["resume", str(home / "run"), "--plugin", str(home / "restless.py")]
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 3
    assert "E307" in result.stderr
    assert "experiment: " in result.stderr


def test_with_leave_a_spec_that_builds_something_else_is_told(home, undrawn):
    """Allowed or not, a state that has no place in what was built cannot be put there."""
    replace(home / "run" / "resolved.yaml", "size: 64", "size: 32")
    with pytest.raises(StorageFailed, match=r"checkpoint of step 4 does not fit the spec: .*size mismatch"):
        resume(plan_of(home), home / "run", allow_drift=True)
    assert read_summary(home / "run")["status"] == "failed"


def test_a_checkpoint_of_another_experiment_is_not_taken_for_ours(home, undrawn, tmp_path):
    """Copied from one run into another, without a trace of drift."""
    folder = run(load_spec({**SHORT, "seed": 77}), runs_dir=tmp_path, limit=Limit(steps=6)).folder
    shutil.copytree(folder / "checkpoints" / "step-000006", home / "run" / "checkpoints" / "step-000006")
    record = resume(plan_of(home), home / "run", limit=Limit(steps=1))
    assert "step-000006: belongs to another experiment; going back to step 4" in (home / "run" / "log.txt").read_text()
    assert record.step == 5


# One at a time --------------------------------------------------------------------------------------------------------


def test_a_run_that_is_under_way_cannot_be_resumed_by_another_process(nursery, written, tmp_path):
    spec = deepcopy(SHORT)
    spec["objective"]["sampler"]["steps"] = 20_000  # a step takes seconds, and the run is killed at the end of the test
    nursery.begin("run", written(spec), "--runs-dir", tmp_path, signal_when=(tmp_path, "enough", ""))
    try:
        # The last file that is written before the first step; those with a dot are on their way to another name.
        while not (found := list(tmp_path.glob("*/*/metrics.jsonl"))):
            pass
        folder = found[0].parent
        kept = [path for path in folder.rglob("[!.]*") if path.is_file() and path.name != "log.txt"]
        before = {path: path.read_bytes() for path in kept}
        result = CliRunner().invoke(group, ["resume", str(folder), "--max-steps", "1"])
        assert result.exit_code == 5
        assert "another process is working on this run" in result.stderr
        assert {path: path.read_bytes() for path in before} == before
    finally:  # whoever comes next finds the nursery empty
        (tmp_path / "enough").touch()
        ended = nursery.end()
    assert ended.killed
    plan = load_spec(folder / "resolved.yaml")
    Record.reopen(folder, plan, []).__exit__(None, None, None)  # the dead do not guard anything


def test_a_folder_that_is_no_run_can_be_tried_again(home):
    """The lock of the folder is released when run.json is found to be damaged."""
    content = (home / "run" / "run.json").read_bytes()
    (home / "run" / "run.json").write_bytes(b"[]")
    errors = []
    for _ in range(2):
        with pytest.raises(StorageFailed, match=r"run\.json: damaged") as caught:
            Record.reopen(home / "run", plan_of(home), [])
        errors.append(caught.value)  # keeps all that it passed through alive
    (home / "run" / "run.json").write_bytes(content)
    Record.reopen(home / "run", plan_of(home), []).__exit__(None, None, None)
