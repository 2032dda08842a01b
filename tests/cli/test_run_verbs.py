"""The verbs that work on run folders, as they are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit.cli import group
from ebmkit.engine.folder.run_summary import read_summary

pytestmark = pytest.mark.usefixtures("undrawn")

SPEC = """\
ebmkit: 1
name: verbs
seed: 5
device: cpu
data: {use: two_moons, size: 200, test_size: 200}
model: {use: mlp, hidden: [8]}
objective: nce
train: {steps: 12, batch_size: 32, ema: 0.9}
sampler: {use: langevin, steps: 5}
samples: 50
evaluate: [{use: mmd, samples: 50}]
"""


def invoke(*words):
    return CliRunner().invoke(group, [str(word) for word in words], prog_name="ebmkit")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished and a paused run."""
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "verbs.yaml").write_text(SPEC)
    runs = ["--runs-dir", folder / "runs", "--quiet"]
    finished = invoke("run", folder / "verbs.yaml", *runs)
    paused = invoke("run", folder / "verbs.yaml", *runs, "--max-steps", 5, "--set", "seed=6")
    assert (finished.exit_code, paused.exit_code) == (0, 0), finished.output + paused.output
    return folder, Path(finished.stdout.strip()), Path(paused.stdout.strip())


@pytest.fixture
def copied(made, tmp_path):
    """The same runs, to be changed."""
    _, finished, paused = made
    return shutil.copytree(finished, tmp_path / "finished"), shutil.copytree(paused, tmp_path / "paused")


def test_runs_shows_what_there_is(made):
    folder, finished, paused = made
    told = invoke("runs", folder / "runs").stdout.splitlines()
    assert len(told) == 3
    assert any(str(finished) in line and "finished" in line and "12/12" in line and "mmd" in line for line in told)
    assert any(str(paused) in line and "paused" in line and "5/12" in line for line in told)
    rows = json.loads(invoke("runs", folder / "runs", "--json").stdout)
    assert {row["status"] for row in rows} == {"finished", "paused"}


def test_runs_knows_a_killed_run_and_a_damaged_one(copied):
    finished, paused = copied
    summary = json.loads((finished / "run.json").read_text())
    (finished / "run.json").write_text(json.dumps(summary | {"status": "running"}))
    (paused / "run.json").write_text("{")
    told = invoke("runs", finished.parent).stdout
    assert "killed" in told
    assert "damaged" in told
    assert "no runs in" in invoke("runs", finished / "samples").stdout


def test_runs_of_a_folder_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("runs", "nope"), ("runs", "nope", "--json")):
        result = invoke(*words)
        assert result.exit_code == 2
        assert "there is no folder nope" in result.stderr
    before_the_first_run = invoke("runs")
    assert before_the_first_run.exit_code == 0
    assert "no runs in runs; 'ebmkit run quickstart' makes one" in before_the_first_run.stdout


def test_resume_goes_on_and_says_when_there_is_nothing_to_do(copied):
    finished, paused = copied
    result = invoke("resume", paused, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["status"], told["step"], len(told["sessions"])) == ("finished", 12, 2)
    assert "is finished" in invoke("resume", finished).output
    assert invoke("resume", finished.parent).exit_code == 2


def test_resume_refuses_what_changed_and_shows_it(copied):
    _, paused = copied
    lock = paused / "lock.yaml"
    lock.write_text(lock.read_text().replace("threads: 1", "threads: 7"))
    refused = invoke("resume", paused)
    assert refused.exit_code == 3
    assert "threads: 7 -> 1" in refused.stderr
    assert "E307" in refused.stderr
    allowed = invoke("resume", paused, "--allow-drift", "--json")
    assert allowed.exit_code == 0
    assert json.loads(allowed.stdout)["sessions"][1]["drift"] == ["threads: 7 -> 1"]


def test_evaluate_measures_again_and_anew(made):
    _, finished, _ = made
    results = json.loads((finished / "run.json").read_text())["results"]
    again = invoke("evaluate", finished, "--json")
    assert json.loads(again.stdout)["results"] == results
    other = invoke("evaluate", finished, "--metric", "{use: sliced_wasserstein, samples: 50}", "--metric", "energy_gap")
    assert other.exit_code == 0, other.output
    assert {"sliced_wasserstein", "energy_gap"} <= {line.split()[0] for line in other.stdout.splitlines()}
    assert invoke("evaluate", finished, "--metric", "mdd").exit_code == 2
    assert json.loads((finished / "run.json").read_text())["results"] == results


def test_evaluate_does_not_run_long_chains_again(made, tmp_path, monkeypatch):
    from ebmkit.engine.sample_drawing import SampleDrawing

    sets = ["sampler=hmc", "chains={count: 2, warmup: 20}", "evaluate=[mmd, ess]"]
    words = [word for change in sets for word in ("--set", change)]
    ended = invoke("run", made[0] / "verbs.yaml", "--runs-dir", tmp_path, "--quiet", "--no-report", *words)
    assert ended.exit_code == 0, ended.output
    folder = ended.stdout.strip()
    other = json.loads(invoke("evaluate", folder, "--json", "--seed", "0").stdout)["results"]
    monkeypatch.setattr(SampleDrawing, "draw", lambda *_: pytest.fail("drawn again"))
    again = invoke("evaluate", folder, "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["results"] == read_summary(Path(folder))["results"] != other


#: A metric that raises at the end, and one that is not finite.
METRICS = """
from ebmkit.api import Metric, component


@component("broken")
class Broken(Metric):
    \"\"\"Raises.\"\"\"

    def results(self):
        return ("broken",)

    def measure(self, view):
        raise RuntimeError("no idea")


@component("infinite")
class Infinite(Metric):
    \"\"\"Not finite.\"\"\"

    def results(self):
        return ("infinite",)

    def measure(self, view):
        return {"infinite": float("inf")}
"""


@pytest.fixture(scope="module")
def half_measured(made):
    """A finished run of whose metrics two failed, what was printed, and the option that names their plugin."""
    folder, *_ = made
    (folder / "odd.py").write_text(METRICS)
    plugin = ["--plugin", folder / "odd.py"]
    metrics = "evaluate=[{use: mmd, samples: 50}, odd.broken, odd.infinite]"
    claims = "expect=[{metric: broken, below: 1}, {metric: mmd, below: 9}]"
    words = ["run", folder / "verbs.yaml", "--runs-dir", folder / "half", *plugin, "--set", metrics, "--set", claims]
    printed, as_json = invoke(*words), invoke(*words, "--json", "--set", "seed=9")
    return printed, as_json, sorted((folder / "half" / "verbs").iterdir()), plugin


def test_run_lists_failed_metrics_with_the_results_and_raises_all_of_them(half_measured):
    printed, as_json, *_ = half_measured
    assert printed.exit_code == as_json.exit_code == 3
    rows = {line.split()[0]: line for line in printed.stdout.splitlines() if line.strip()}
    assert "failed" in rows["broken"]
    assert "below 1" in rows["broken"]
    assert "failed" in rows["infinite"]
    assert "below 9" in rows["mmd"]
    assert "no idea" in printed.stdout
    assert "finished in" in printed.stdout
    told = [line for line in printed.stderr.splitlines() if line.startswith("error[")]
    assert [line[6:10] for line in told] == ["E301", "E302", "E304"]
    assert "Traceback" not in printed.stderr
    summary = json.loads(as_json.stdout)
    assert summary["status"] == "finished"
    assert [one["what"] for one in summary["failed"]] == ["metric 'odd.broken'", "metric 'odd.infinite'"]
    assert [(claim["metric"], claim["met"]) for claim in summary["expect"]] == [("broken", False), ("mmd", True)]


def test_the_other_verbs_know_failed_metrics(half_measured):
    *_, (folder, other), plugin = half_measured
    assert "metric 'odd.broken' failed" in invoke("runs", folder.parent).stdout
    evaluated = invoke("evaluate", folder, *plugin)
    assert evaluated.exit_code == 3
    assert evaluated.stdout.count("failed: ") == 2
    assert "mmd" in evaluated.stdout
    known = json.loads(invoke("evaluate", folder, "--json", *plugin).stdout)
    assert [one["results"] for one in known["failed"]] == [["broken"], ["infinite"]]
    again = invoke("resume", other, *plugin)
    assert again.exit_code == 3
    assert "finished in" in again.stdout
    assert len(read_summary(other)["sessions"]) == 2
    assert invoke("report", folder, *plugin).exit_code == 0


@pytest.mark.parametrize("checkpoint", ["checkpoint.every=2", "checkpoint.every=auto"])
def test_verbs_work_on_a_run_that_diverged(made, tmp_path, checkpoint):
    folder, *_ = made
    stages = "train=[{steps: 5, batch_size: 32}, {steps: 5, batch_size: 32, optimizer: {use: sgd, lr: 1.0e+38}}]"
    sets = ["--set", stages, "--set", checkpoint]
    failed = invoke("run", folder / "verbs.yaml", "--runs-dir", tmp_path, *sets)
    assert failed.exit_code == 4
    (diverged,) = tmp_path.glob("*/*/")
    assert f"report   {diverged / 'report.html'}" in failed.stdout
    assert (diverged / "plots/summary.png").is_file()
    (diverged / "report.html").unlink()
    assert "diverged" in invoke("runs", tmp_path).stdout
    assert invoke("report", diverged).exit_code == 0
    assert (diverged / "report.html").is_file()
    opened = ebmkit.open_run(diverged)
    assert opened.status == "diverged"
    assert opened.metrics["loss"] == recorded(diverged, "loss")
    assert len(opened.metrics["loss"]) == 6


def recorded(folder, name):
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [(line["step"], line[name]) for line in lines if name in line]


def test_report_is_written_anew_also_of_an_unfinished_run(copied):
    finished, paused = copied
    (finished / "report.html").unlink()
    shutil.rmtree(finished / "plots", ignore_errors=True)
    for folder in (finished, paused):
        result = invoke("report", folder)
        assert result.exit_code == 0, result.output
        assert "</html>" in (folder / "report.html").read_text()
        assert (folder / "plots/summary.png").read_bytes().startswith(b"\x89PNG")


def test_report_elsewhere_leaves_the_run_as_it_is(copied, tmp_path):
    _, paused = copied
    assert invoke("report", paused, "--out", tmp_path / "page.html").exit_code == 0
    assert "</html>" in (tmp_path / "page.html").read_text()
    assert not (paused / "report.html").exists()
    assert not (paused / "plots").exists()


def test_reproduce_compares_every_bit(made, tmp_path):
    _, finished, paused = made
    same = invoke("reproduce", finished, "--runs-dir", tmp_path)
    assert same.exit_code == 0, same.output
    assert "DIFFERENT" not in same.output
    assert "same       checkpoint model.safetensors" in same.output
    assert invoke("reproduce", paused).exit_code == 2
    forged = shutil.copytree(finished, tmp_path / "forged")
    with (forged / "metrics.jsonl").open("a") as file:
        file.write("{}\n")
    different = invoke("reproduce", forged, "--runs-dir", tmp_path)
    assert different.exit_code == 6
    assert "DIFFERENT  metrics.jsonl" in different.output
    assert "E308" in different.output


def test_diff_tells_spec_lock_and_results_apart(made):
    _, finished, paused = made
    told = json.loads(invoke("diff", finished, paused, "--json").stdout)
    assert told["spec"] == [{"path": "seed", "one": 5, "other": 6}]
    assert [row["path"] for row in told["lock"]] == ["experiment"]
    assert {row["path"] for row in told["results"]} == {"mmd", "mmd_floor", "verdict", "verdict_p_value"}
    assert "spec: the same" in invoke("diff", finished, finished).stdout


def test_a_dry_run_writes_nothing(made, tmp_path, monkeypatch):
    folder, _, _ = made
    monkeypatch.chdir(tmp_path)
    result = invoke("run", folder / "verbs.yaml", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "nothing was written" in result.output
    assert not list(tmp_path.iterdir())
    assert json.loads(invoke("run", folder / "verbs.yaml", "--dry-run", "--json").stdout)["steps"]


@pytest.mark.parametrize(
    ("text", "accepted"), [("90s", True), ("0.5h", True), ("1", True), ("soon", False), ("-3s", False)]
)
def test_times_are_understood(text, accepted, made, tmp_path):
    folder, _, _ = made
    result = invoke("run", folder / "verbs.yaml", "--runs-dir", tmp_path, "--max-time", text, "--quiet")
    assert result.exit_code == (0 if accepted else 2), result.output


def test_a_run_is_three_lines_away_from_python(made):
    _, finished, _ = made
    run = ebmkit.open_run(finished)
    assert run.model(run.samples).shape == (50,)
    assert run.sample(7, seed=1).shape == (7, 2)
    assert run.sample(7, seed=1).equal(run.sample(7, seed=1))
    assert not run.sample(7, seed=1).equal(run.sample(7, seed=2))
    assert run.sample(50).equal(run.samples)
    assert run.status == "finished"
    assert run.results["mmd"] == run.summary["results"]["mmd"]
    assert len(run.metrics["loss"]) == 12
    assert run.spec["train"]["steps"] == 12


def test_the_numbers_of_a_run_are_read_once(made, monkeypatch):
    from ebmkit.engine import sampling

    run = ebmkit.open_run(made[1])
    losses = run.metrics["loss"]
    monkeypatch.setattr(sampling, "build", lambda plan: pytest.fail("built again"))
    assert run.metrics["loss"] == losses


def test_other_data_than_those_of_the_run_are_not_taken_for_them(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    np.savez("own.npz", x=rows)
    Path("own.yaml").write_text(
        SPEC.replace("{use: two_moons, size: 200, test_size: 200}", "{use: npz, path: own.npz}")
    )
    folder = invoke("run", "own.yaml", "--quiet").stdout.strip()
    assert invoke("evaluate", folder, "--metric", "{use: mmd, samples: 20}").exit_code == 0
    page = Path(folder, "report.html").read_bytes()
    np.savez("own.npz", x=rows + 40)
    for verb in ("evaluate", "report"):
        refused = invoke(verb, folder)
        assert refused.exit_code == 3, verb
        assert "the data are not those of" in refused.stderr
    assert Path(folder, "report.html").read_bytes() == page


def test_drift_that_was_allowed_is_told_everywhere(copied):
    _, paused = copied
    lock = paused / "lock.yaml"
    lock.write_text(lock.read_text().replace("threads: 1", "threads: 7"))
    again = invoke("resume", paused, "--allow-drift", "--max-steps", 1)
    assert "differs from the start of the run (allowed by --allow-drift): threads: 7 -> 1" in again.output
    assert f"ebmkit resume {paused} --allow-drift" in again.output
    assert "threads: 7 -> 1" in (paused / "log.txt").read_text()
    assert json.loads((paused / "run.json").read_text())["warnings"]
