"""Hostile data files, checkpoints and run folders: every verb that reads them ends with a sentence or a result.

None ends with a traceback or a wrong exit status, none takes long or much memory, nothing is written outside the run
folder, and nothing is executed.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit import load_spec
from ebmkit.cli import group
from ebmkit.engine import session
from ebmkit.engine.limit import Limit
from ebmkit.errors import EbmkitError, Mistakes

from . import files, folders
from .test_sweep_specs import limit
from .watch import Watch

#: What a verb may end with: done, a wrong spec or usage, plugin or environment, diverged, storage, unmet.
STATUSES = {0, 2, 3, 4, 5, 6}


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    """They take longer than everything else, and a panel that fails is shown as failed."""
    monkeypatch.setattr("ebmkit.report.summary.draw_summary", lambda *arguments: b"a picture")
    monkeypatch.setattr("ebmkit.report.drawn.offered_panels", lambda view: [])


@pytest.fixture(autouse=True)
def _removed(tmp_path: Path) -> Iterator[None]:
    """Folders may be nested too deeply for Python, and so for pytest, to delete."""
    yield
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A finished training, a paused one, and a finished sampling experiment."""
    import matplotlib.figure  # noqa: F401  # it makes a folder for its settings

    runs, plans = tmp_path_factory.mktemp("honest"), [load_spec(spec) for spec in folders.SPECS]
    made = [session.run(plans[0], runs_dir=runs), session.run(plans[0], runs_dir=runs, limit=Limit(steps=2))]
    return [record.folder for record in (*made, session.run(plans[1], runs_dir=runs))]


def invoke(*words: object) -> int:
    result = CliRunner().invoke(group, [str(word) for word in words], prog_name="ebmkit")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result.exit_code


def watched(call: Callable[[], int], own: Path) -> tuple[int, Watch]:
    """The exit status and what happened. The time counts for what is refused: other work is what the spec asks for."""
    with Watch(own) as watch:
        status = call()
    watch.check(limit() if status else 20 * limit())
    assert status in STATUSES
    return status, watch


def read_data(seed: int, folder: Path) -> dict[str, int]:
    """Validate and try out a spec on a hostile data file."""
    rng = random.Random(f"data {seed}")
    path, component = files.write_hostile_data(folder, rng)
    data: dict[str, Any] = {"use": component, "path": str(path)}
    if component == "cifar10":
        data = {"use": component, "folder": str(folder)}
    elif rng.random() < 0.3:
        data |= {"dequantize": True if component == "celeba" else 256}
    if component == "npz" and rng.random() < 0.3:
        data["y"] = "y"
    model = "conv" if component in ("celeba", "cifar10") else {"use": "mlp", "hidden": [4]}
    spec = {**folders.SPECS[0], "data": data, "model": model}
    spec["train"] = {"steps": 1, "batch_size": 2}
    (folder / "spec.yaml").write_text(json.dumps(spec, indent=1))
    calls = {
        "validate": lambda: invoke("validate", folder / "spec.yaml"),
        "dry run": lambda: invoke("run", folder / "spec.yaml", "--dry-run"),
    }
    found = {name: watched(call, folder / "nothing")[0] for name, call in calls.items()}
    assert found["validate"] in (0, 2)
    assert found["validate"] == 0 or found["dry run"] == 2
    return found


def open_run(folder: Path) -> int:
    """In Python, an error is one of ebmkit's."""
    try:
        run = ebmkit.open_run(folder)
        assert repr(run)
        assert isinstance(run.results, dict)
        assert isinstance(run.metrics, dict)
        assert len(run.samples)
    except Mistakes as several:
        return several.exit_status
    except EbmkitError as error:
        return error.exit_status
    return 0


def read_folder(seed: int, honest: list[Path], case: Path) -> dict[str, int]:
    """Every verb on a hostile run folder."""
    rng = random.Random(f"folder {seed}")
    source = rng.choice(honest)
    folder = shutil.copytree(source, case / "run")
    (case / "outside").mkdir()
    (case / "outside" / "file").write_text("mine")
    done = folders.damage(folder, rng)
    out, again = case / "out", case / "again"
    calls: dict[str, Callable[[Path], int]] = {
        "runs": lambda run: invoke("runs", run.parent),
        "runs --json": lambda run: invoke("runs", run.parent, "--json"),
        "diff": lambda run: invoke("diff", source, run),
        "open_run": open_run,
        "evaluate": lambda run: invoke("evaluate", run),
        "sample": lambda run: invoke("sample", run, "--out", out / f"{seed}.npz", "-n", 3),
        "report": lambda run: invoke("report", run),
        "resume": lambda run: invoke("resume", run, "--max-steps", 2, "--quiet"),
        "reproduce": lambda run: invoke("reproduce", run, "--runs-dir", again, "--quiet"),
    }
    chosen = rng.sample(sorted(calls), 5)
    found = {}
    for name in chosen:
        try:
            with Watch(folder, out, again) as watch:
                found[name] = calls[name](folder)
            watch.check(limit() if found[name] else 20 * limit())
            assert found[name] in ({0} if name.startswith("runs") else STATUSES)
        except Exception as error:
            error.add_note(f"{name} after {done}")
            raise
    assert (case / "outside" / "file").read_text() == "mine"
    assert [path.name for path in (case / "outside").iterdir()] == ["file"]
    return found


def sweep(read: Callable[[int, Path], dict[str, int]], seeds: range, tmp_path: Path) -> dict[int, int]:
    """How many calls ended with which exit status."""
    counts: dict[int, int] = {}
    limit()
    for seed in seeds:
        case = tmp_path / str(seed)
        case.mkdir()
        try:
            found = read(seed, case)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        for status in found.values():
            counts[status] = counts.get(status, 0) + 1
        with suppress(OSError, RecursionError):
            shutil.rmtree(case)
    print(f"exit statuses {counts}")
    return counts


def test_20_hostile_data_files(tmp_path: Path) -> None:
    assert sweep(read_data, range(0, 250, 13), tmp_path)[2] > 10


def test_20_hostile_run_folders(honest: list[Path], tmp_path: Path) -> None:
    counts = sweep(lambda seed, case: read_folder(seed, honest, case), range(0, 250, 13), tmp_path)
    assert counts[5] > 10


@pytest.mark.long
def test_250_hostile_data_files(tmp_path: Path) -> None:
    assert sweep(read_data, range(250), tmp_path)[2] > 100


@pytest.mark.long
def test_250_hostile_checkpoints_and_run_folders(honest: list[Path], tmp_path: Path) -> None:
    counts = sweep(lambda seed, case: read_folder(seed, honest, case), range(250), tmp_path)
    assert counts[5] > 100
