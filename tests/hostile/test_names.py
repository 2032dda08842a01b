"""Folders and files whose names are not UTF-8, as they come from old archives: runs work there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.patience import PATIENCE

NAME = os.fsdecode(b"caf\xe9")

SPEC = """\
ebmkit: 1
data: {use: npz, path: DATA}
model: {use: mlp, hidden: [4]}
objective: nce
train: {steps: 2, batch_size: 8}
sampler: {use: langevin, steps: 2}
samples: 8
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names themselves")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / NAME
    found.mkdir()
    np.savez(found / "data.npz", x=np.random.default_rng(0).standard_normal((40, 2)))
    (found / f"{NAME}.yaml").write_text(SPEC.replace("DATA", "data.npz"))
    return found


def ebmkit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "ebmkit", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stderr
    return done


def test_a_run_works_where_no_name_is_text(folder: Path) -> None:
    """The working folder, the spec and the folder of runs."""
    runs = folder / NAME
    done = ebmkit(folder, "run", f"{NAME}.yaml", "--runs-dir", str(runs), "--quiet")
    assert done.returncode == 0, done.stderr
    (run,) = runs.glob("*/*/")
    summary = json.loads((run / "run.json").read_text())
    assert summary["sessions"][0]["command"][-2] == str(runs)  # the name itself, which JSON can hold
    assert r"caf\udce9" in (run / "report.html").read_text()
    (row,) = json.loads(ebmkit(folder, "runs", str(runs), "--json").stdout)
    assert row["status"] == "finished"
    assert row["folder"] == str(run)


def test_verbs_read_such_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from ebmkit import load_spec
    from ebmkit.cli import group
    from ebmkit.engine import session

    monkeypatch.chdir(folder)
    run = session.run(load_spec(f"{NAME}.yaml"), runs_dir=folder / NAME).folder
    for verb, *more in (
        ["evaluate", "--metric", "mmd"],
        ["sample", "--out", str(folder / f"{NAME}.npz")],
        ["diff", str(run)],
        ["resume"],
        ["resolve"],
    ):
        target = str(run / "spec.yaml") if verb == "resolve" else str(run)
        result = CliRunner().invoke(group, [verb, target, *more], prog_name="ebmkit")
        assert result.exit_code == 0, (verb, result.output)


@pytest.mark.parametrize("change", [f"data.path={NAME}.npz", f"name={NAME}"])
def test_a_value_that_is_no_text_is_refused_at_its_place(change: str, folder: Path) -> None:
    done = ebmkit(folder, "validate", f"{NAME}.yaml", "--set", change)
    assert done.returncode == 2
    assert "--set[1]:1:" in done.stderr
