"""`run --reuse` and `run --once`: what was computed is not computed again."""

import json
from pathlib import Path

import pytest

from tests.cli.typed import ebmkit

SPEC = """\
ebmkit: 1
name: reused
device: cpu
data: {use: csv, path: points.csv}
model: {use: mlp, hidden: [4]}
objective: nce
train: {steps: 6, batch_size: 8}
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("points.csv").write_text("x,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40)))
    Path("reused.yaml").write_text(SPEC)
    return Path("reused.yaml")


def run(*words):
    return Path(ebmkit("run", "reused.yaml", "--no-report", "--quiet", *words).stdout.strip())


def test_a_finished_run_is_taken(spec):
    first = run()
    spec.write_text("# a comment, and another name\n" + SPEC.replace("reused", "renamed"))
    assert run("--reuse") == run("--once") == first
    assert "with the same versions" in ebmkit("run", "reused.yaml", "--reuse").stdout
    told = json.loads(ebmkit("run", "reused.yaml", "--reuse", "--json").stdout)
    assert (told["folder"], told["reused"]) == (str(first), True)
    assert run() != first  # without the flag, a run is a new run


def test_another_spec_and_other_data_are_other_runs(spec):
    first = run()
    assert run("--reuse", "--set", "seed=1") != first
    with Path("points.csv").open("a") as file:
        file.write("1,1\n")
    assert run("--reuse") != first


def test_an_unfinished_run_is_continued_once(spec):
    paused = run("--max-steps", "3")
    assert run("--reuse", "--max-steps", "2") != paused
    last = run("--once")
    assert json.loads((last / "run.json").read_text())["status"] == "finished"
    assert len(json.loads((last / "run.json").read_text())["sessions"]) == 2
    assert run("--once") == last


def test_a_claim_that_does_not_hold_is_an_error_again(spec):
    spec.write_text(
        SPEC + "samples: 20\nsampler: {use: langevin, steps: 2}\nevaluate: [energy_gap]\n"
        "expect: [{metric: energy_gap, above: 1e6}]\n"
    )
    ebmkit("run", "reused.yaml", "--no-report", "--quiet", status=6)
    again = ebmkit("run", "reused.yaml", "--reuse", status=6)
    assert "reused.yaml" in again.stderr
    assert "E304" in again.stderr
