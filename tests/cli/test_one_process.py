"""Several processes of one launcher do not make the same run several times."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit.cli import group, one_process
from ebmkit.errors.running import EnvironmentLacks

SPEC = """\
ebmkit: 1
name: twice
data: {use: two_moons, size: 50}
model: {use: mlp, hidden: [4]}
objective: nce
train: {steps: 2, batch_size: 8}
"""


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """A launcher's environment: sets RANK and WORLD_SIZE."""
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC)
    monkeypatch.setattr(one_process, "GRACE", 0.01)

    def launched(rank, size):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", size)

    return launched


@pytest.mark.parametrize(
    "words",
    [
        ("run", "spec.yaml"),
        ("run", "spec.yaml", "--dry-run"),
        ("sample", "gallery/banana", "--out", "x.npy"),
        ("resume", "made"),
        ("reproduce", "made"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("rank", ["0", "1"])
def test_verbs_that_make_runs_refuse_to_be_several(words, rank, launched):
    Path("made").mkdir()
    Path("made/run.json").write_text("{}")
    launched(rank, "2")
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 3, result.output
    assert (
        f"started as process {rank} of 2 (RANK={rank}, WORLD_SIZE=2), but distributed training is not supported"
        in result.stderr
    )
    assert "E305" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["made", "spec.yaml"]


@pytest.mark.parametrize("what", [ebmkit.run, ebmkit.resume])
def test_python_refuses_too(what, launched):
    launched("0", "2")
    with pytest.raises(EnvironmentLacks, match="started as process 0 of 2"):
        what("spec.yaml")


@pytest.mark.parametrize(("rank", "size"), [("0", "1"), ("", ""), ("zero", "many")])
def test_one_process_of_a_launcher_runs(rank, size, launched, undrawn):
    launched(rank, size)
    result = CliRunner().invoke(group, ["run", "spec.yaml", "--quiet"])
    assert result.exit_code == 0, result.output


def test_torchrun_is_refused_once(tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "ebmkit"]
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(
        [*command, "run", "spec.yaml"], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode != 0
    assert done.stderr.count("every process would repeat the same run") == 1
    assert "exitcode  : 3" in done.stderr
    assert not (tmp_path / "runs").exists()
