"""`ebmkit sample`: files from runs and from specs, and runs from specs that need no training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ebmkit.cli import group

pytestmark = pytest.mark.usefixtures("undrawn")

SPEC = """\
ebmkit: 1
name: drawn
device: cpu
model: {use: gaussian, mean: [1.0, 2.0]}
sampler: {use: metropolis, scale: 1.5}
samples: 40
"""
CHAINS = "chains: {count: 4, burn_in: 5}\n"


def invoke(*words, status=0):
    result = CliRunner().invoke(group, [str(word) for word in words], prog_name="ebmkit")
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def specs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("long.yaml").write_text(SPEC + CHAINS)
    Path("ends.yaml").write_text(SPEC.replace("scale", "steps: 3, scale"))
    Path("trained.yaml").write_text(SPEC + "data: two_moons\nobjective: nce\ntrain: {steps: 1}\n")
    return tmp_path


def test_a_spec_is_carried_out_as_run_does(specs):
    folder = Path(invoke("sample", "long.yaml", "--quiet").stdout.strip())
    assert folder.parent == Path("runs/drawn")
    run = Path(invoke("run", "long.yaml", "--quiet", "--runs-dir", "others").stdout.strip())
    for name in ("samples/samples.safetensors", "samples/chains.safetensors", "resolved.yaml"):
        assert (folder / name).read_bytes() == (run / name).read_bytes(), name
    assert (folder / "report.html").is_file()


def test_how_many_and_which_seed_can_be_said(specs):
    folder = Path(
        invoke("sample", "long.yaml", "-n", 80, "--seed", 7, "--quiet", "--set", "chains.count=8").stdout.strip()
    )
    summary = json.loads((folder / "run.json").read_text())
    assert summary["seed"] == 7
    resolved = (folder / "resolved.yaml").read_text()
    assert "samples: 80" in resolved
    assert "count: 8" in resolved
    invoke("sample", folder, "--out", "again.npy", "--quiet")
    invoke("sample", folder, "-n", 12, "--out", "few.npy")
    invoke("sample", folder, "--out", "other.npy", "--seed", 8)
    again, few, other = (np.load(f"{name}.npy") for name in ("again", "few", "other"))
    assert (again.shape, few.shape) == ((80, 2), (12, 2))
    assert not np.array_equal(again, other)


def test_the_spec_says_how_many_by_default_and_the_file_is_flat(specs):
    said = invoke("sample", "ends.yaml", "--out", "x.npy", "--plot", "x.png")
    assert np.load("x.npy").shape == (40, 2)
    assert "40 samples  x.npy" in said.stdout
    assert Path("x.png").stat().st_size > 10_000
    assert not Path("runs").exists()
    assert "chains:" not in said.output
    long = invoke("sample", "long.yaml", "--out", "y.npz")
    assert np.load("y.npz")["x"].shape == (40, 2)
    assert "chains: R-hat at most" in long.stderr
    assert "warning: the bulk ESS is" in long.stderr
    assert invoke("sample", "long.yaml", "--out", "z.npz", "--quiet").output == ""


def test_chains_are_written_for_arviz(specs):
    invoke("sample", "long.yaml", "--out", "draws.json")
    invoke("sample", "long.yaml", "--out", "flat.npy")
    written = json.loads(Path("draws.json").read_text())
    x = np.array(written["posterior"]["x"], dtype=np.float32)
    assert x.shape == (4, 10, 2)
    assert np.array_equal(x.reshape(40, 2), np.load("flat.npy"))
    assert np.array(written["sample_stats"]["acceptance_rate"]).shape == (4, 10)


def test_ends_of_chains_are_not_taken_for_draws_of_one(specs):
    refused = invoke("sample", "ends.yaml", "--out", "draws.json", status=2).stderr
    assert "has no 'chains:'" in refused
    assert "chains: {count: 4}" in refused
    assert not Path("draws.json").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["trained.yaml"], "has to be trained"),
        (["trained.yaml", "--out", "x.npy"], "has to be trained"),
        (["long.yaml", "--plot", "x.png"], "--plot goes with --out"),
        (["long.yaml", "--out", "x.txt"], "must end in one of"),
        (["long.yaml", "--out", "long.yaml"], "must end in one of"),
        (["long.yaml", "--out", "x.npy", "--plot", "x.jpg"], "must end in .png"),
        (["long.yaml", "--out", "there.npy"], "--force overwrites it"),
        (["long.yaml", "--out", "x.npy", "-n", "0"], "-n"),
        (["long.yaml", "--set", "chains.cuont=3"], "count"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(specs, words, told):
    Path("there.npy").write_bytes(b"")
    assert told in invoke("sample", *words, status=2).stderr
    assert not Path("runs").exists()
    assert not Path("x.npy").exists()


def test_the_folder_of_a_run_needs_a_file_to_write(specs):
    folder = invoke("sample", "long.yaml", "--quiet").stdout.strip()
    assert "--out says where" in invoke("sample", folder, status=2).stderr
    assert "change specs" in invoke("sample", folder, "--out", "x.npy", "--set", "samples=3", status=2).stderr


def test_claims_count_here_too(specs):
    Path("claim.yaml").write_text(SPEC + CHAINS + "evaluate: [rhat]\nexpect: [{metric: rhat_max, below: 0.5}]\n")
    assert "E304" in invoke("sample", "claim.yaml", "--quiet", status=6).stderr


def test_there_is_a_template(specs):
    assert "ebmkit sample mine.yaml" in invoke("new", "spec", "mine.yaml", "--from", "sampling").output
    assert "ok" in invoke("validate", "mine.yaml").output
    assert "ebmkit run yours.yaml" in invoke("new", "spec", "yours.yaml").output
