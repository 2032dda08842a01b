"""Links, pipes and other names of files in an untrusted run folder: no verb writes, deletes or waits outside it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit import load_spec
from ebmkit.cli import group
from ebmkit.engine import session
from ebmkit.engine.limit import Limit
from ebmkit.errors.running import StorageFailed
from ebmkit.storage import links
from tests.drawn import resume

SPEC = {
    "ebmkit": 1,
    "name": "small",
    "data": "rings",
    "model": {"use": "mlp", "hidden": [4]},
    "objective": "nce",
    "train": {"steps": 4, "batch_size": 8},
    "sampler": {"use": "langevin", "steps": 2},
    "samples": 8,
    "evaluate": [{"use": "sliced_wasserstein", "samples": 8, "directions": 2}],
    "trackers": ["jsonl"],
    "checkpoint": {"every": 2},
}


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that can be continued. Its files are those of a run that ends here and there."""
    return session.run(load_spec(SPEC), runs_dir=tmp_path_factory.mktemp("runs"), limit=Limit(steps=2)).folder


@pytest.fixture
def untrusted(paused: Path, tmp_path: Path) -> Path:
    return shutil.copytree(paused, tmp_path / "runs" / "small")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files of the user, under the names that a run uses."""
    folder = tmp_path / "outside"
    (folder / "step-000002").mkdir(parents=True)
    for name in ("samples.safetensors", "summary.png", "log.txt", ".x.1", "step-000002/manifest.json", "empty"):
        (folder / name).write_text("" if name == "empty" else "mine")
    return folder


def state(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(group, [str(word) for word in words], prog_name="ebmkit")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


#: Names in a run folder, and what they are links to: a folder or a file of the user, or something that does not exist.
TARGETS = {
    **dict.fromkeys(("samples", "plots", "checkpoints", "tensorboard", "notes"), ""),
    "checkpoints/step-000002": "step-000002",
    **dict.fromkeys((".lock", ".owner", "run.json", "metrics.jsonl", "report.html", "spec.yaml"), "log.txt"),
    **dict.fromkeys(("log.txt", "lock.yaml", "resolved.yaml", "plots/summary.png"), "log.txt"),
    "samples/step-000002.safetensors": "new",
    "checkpoints/.step-000004.1": "",
}

VERBS: dict[str, Callable[[Path], list[object]]] = {
    "resume": lambda run: [],
    "report": lambda run: [],
    "evaluate": lambda run: [],
    "sample": lambda run: ["--out", run.parent / "x.npy"],
    "reproduce": lambda run: ["--runs-dir", run.parent / "again"],
    "diff": lambda run: [run],
}


def replace_by(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(path)


@pytest.mark.parametrize("name", TARGETS)
def test_no_verb_follows_a_link_out_of_a_run(name: str, untrusted: Path, outside: Path) -> None:
    before = state(outside)
    replace_by(untrusted / name, lambda path: path.symlink_to(outside / TARGETS[name]))
    names = sorted(path.name for path in untrusted.iterdir())
    for verb, more in VERBS.items():
        status, said = invoke(verb, untrusted, *more(untrusted))
        assert status == (2 if name == "run.json" and "not a run" in said else 5), said
        assert name == "run.json" or f"/{name}: a link to " in said.replace("\n", "")
    status, said = invoke("runs", untrusted.parent)
    assert status == 0
    with pytest.raises(StorageFailed):
        ebmkit.open_run(untrusted)
    with pytest.raises(StorageFailed):
        ebmkit.resume(untrusted)
    assert state(outside) == before
    assert sorted(path.name for path in untrusted.iterdir()) == names


@pytest.mark.parametrize("name", ["run.json", "log.txt", ".lock", "samples", "checkpoints/step-000002/manifest.json"])
def test_a_pipe_is_refused_and_never_waited_for(name: str, untrusted: Path) -> None:
    replace_by(untrusted / name, os.mkfifo)
    for verb, more in VERBS.items():
        status, said = invoke(verb, untrusted, *more(untrusted))
        assert status in (2, 5)
        assert "not a run folder" in said or "a pipe" in said
    assert invoke("runs", untrusted.parent)[0] == 0


def test_files_with_other_names_are_not_changed(untrusted: Path, outside: Path, undrawn: None) -> None:
    """Hard links: an archive or another user can make them, and they cannot be told from files."""
    before = state(outside)
    for name in ("log.txt", "metrics.jsonl", "report.html"):
        replace_by(untrusted / name, lambda path: path.hardlink_to(outside / "log.txt"))
    replace_by(untrusted / ".lock", lambda path: path.hardlink_to(outside / "empty"))
    assert resume(load_spec(SPEC), untrusted).status == "finished"
    assert (untrusted / "log.txt").read_text().startswith("mine")
    assert (untrusted / "report.html").read_text() != "mine"
    assert state(outside) == before


def test_a_temporary_name_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    from ebmkit.storage.atomic import write_text

    (tmp_path / "mine").write_text("mine")
    (tmp_path / f".x.txt.{os.getpid()}").symlink_to(tmp_path / "mine")
    write_text(tmp_path / "x.txt", "new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "x.txt").read_text() == "new"


def test_links_within_a_run_and_to_a_run_are_followed(untrusted: Path, tmp_path: Path, undrawn: None) -> None:
    (untrusted / "newest").symlink_to("checkpoints/step-000002")
    (tmp_path / "here").symlink_to(untrusted)
    assert resume(load_spec(SPEC), tmp_path / "here").status == "finished"


def test_a_folder_with_too_many_files_is_no_run(untrusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST", 3)
    with pytest.raises(StorageFailed, match="more than 3 files"):
        ebmkit.open_run(untrusted)


def test_a_large_empty_file_is_not_read_into_memory(untrusted: Path) -> None:
    """It takes no space on disk, and would take all memory."""
    with (untrusted / "run.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(StorageFailed, match=r"1,099,511,627,776 bytes, but at most"):
        ebmkit.open_run(untrusted)
    (row,) = json.loads(invoke("runs", untrusted.parent, "--json")[1])
    assert row["status"] == "damaged"


def test_a_large_empty_checkpoint_is_skipped(untrusted: Path) -> None:
    (weights,) = untrusted.glob("checkpoints/step-000002/model.safetensors")
    with weights.open("r+b") as file:
        file.truncate(1 << 43)
    with pytest.raises(StorageFailed, match="no valid checkpoint") as refused:
        resume(load_spec(SPEC), untrusted)
    assert "of memory are free" in refused.value.help
