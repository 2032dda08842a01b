"""`ebmkit run` and `ebmkit sample` as they are typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit.cli import group
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("undrawn")

SPEC = """\
ebmkit: 1
name: verb
seed: 5
device: cpu
data: {use: two_moons, size: 200, test_size: 200}
model: {use: mlp, hidden: [8]}
objective: nce
train: {steps: 20, batch_size: 32, ema: 0.9}
sampler: {use: langevin, steps: 5}
samples: 50
evaluate: [{use: mmd, samples: 50}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "verb.yaml").write_text(SPEC)
    return tmp_path


def invoke(*words):
    return CliRunner().invoke(group, list(words), prog_name="ebmkit")


def started(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "ebmkit", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.mark.long
def test_two_processes_leave_the_same_bytes(folder):
    processes = [started("run", "verb.yaml", "--quiet", "--runs-dir", name) for name in ("one", "two")]
    told = [process.communicate(timeout=PATIENCE)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    compared = ["metrics.jsonl", "samples/samples.safetensors", "resolved.yaml"]
    compared += [f"checkpoints/step-000020/{part}.safetensors" for part in ("model", "mean", "extras")]
    for name in compared:
        one, two = ((folder / where / name).read_bytes() for where in told)
        assert one == two, name
        assert one


def test_what_a_person_sees(folder):
    result = invoke("run", "verb.yaml", "--set", "expect=[{metric: mmd, below: 9}]")
    assert result.exit_code == 0, result.output
    for words in (
        "mlp: 33 parameters",
        "two_moons: 200 training and 200 held-out points",
        "cpu, float32, 1 thread",
        "step 2/20",
        "steps/s",
        "below 9",
    ):
        assert words in result.output
    assert (folder / result.output.split("picture  ")[1].split()[0]).is_file()
    assert (folder / result.output.split("report   ")[1].split()[0]).is_file()


def test_json_is_one_object_on_stdout_even_when_a_claim_fails(folder):
    result = invoke("run", "verb.yaml", "--json", "--set", "expect=[{metric: mmd, below: -9}]")
    assert result.exit_code == 6
    told = json.loads(result.stdout)
    assert told["status"] == "finished"
    assert told["expect"] == [{"metric": "mmd", "expected": "below -9", "met": False}]
    assert set(told["results"]) >= {"mmd"}
    assert "error[E304]" in result.stderr


def drawn(run_folder):
    return {name for name in ("report.html", "plots") if (run_folder / name).exists()}


def test_without_a_report_everything_else_is_there_and_the_report_can_be_had_later(folder):
    result = invoke("run", "verb.yaml", "--no-report")
    assert result.exit_code == 0, result.output
    assert "picture" not in result.output
    (run_folder,) = folder.glob("runs/verb/*")
    assert drawn(run_folder) == set()
    assert f"'ebmkit report runs/verb/{run_folder.name}' writes it" in result.output
    assert (run_folder / "samples/samples.safetensors").is_file()
    assert invoke("report", str(run_folder)).exit_code == 0
    assert drawn(run_folder) == {"report.html", "plots"}


def test_no_verb_that_runs_draws_without_a_report(folder):
    told = json.loads(invoke("run", "verb.yaml", "--no-report", "--json", "--max-steps", "3").stdout)
    assert (told["status"], told["picture"], told["report"]) == ("paused", None, None)
    assert invoke("resume", told["folder"], "--no-report").exit_code == 0
    assert drawn(folder / told["folder"]) == set()
    (folder / "g.yaml").write_text("ebmkit: 1\nmodel: {use: gaussian, mean: [0, 0]}\nsampler: exact\ndevice: cpu\n")
    sampled = invoke("sample", "g.yaml", "-n", "7", "--no-report", "--quiet").stdout.strip()
    assert drawn(folder / sampled) == set()
    assert drawn(ebmkit.run("g.yaml", report=False).folder) == set()
    paused = json.loads(invoke("run", "verb.yaml", "--json", "--max-steps", "3").stdout)["folder"]
    assert drawn(ebmkit.resume(paused, report=False).folder) == set()


def test_divergence_has_its_exit_status_place_and_step(folder):
    result = invoke("run", "verb.yaml", "--set", "train.optimizer={use: sgd, lr: 1e38}")
    assert result.exit_code == 4
    assert "error[E302]: optimizer 'sgd': a weight is not finite at step 1" in result.stderr
    assert "--set[1]:1:23" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_absent_device_and_an_unwritable_folder_have_theirs(folder):
    (folder / "file").write_text("")
    assert invoke("run", "verb.yaml", "--device", "cuda:99").exit_code == 3
    assert invoke("run", "verb.yaml", "--runs-dir", "file").exit_code == 5


def test_samples_of_a_run_in_every_format(folder):
    run_folder = invoke("run", "verb.yaml", "--quiet").stdout.strip()
    for suffix in ("npy", "npz", "csv", "safetensors"):
        result = invoke("sample", run_folder, "-n", "20", "--out", f"out/x.{suffix}")
        assert result.exit_code == 0, result.output
    from safetensors.numpy import load_file

    x = np.load("out/x.npy", allow_pickle=False)
    assert x.shape == (20, 2)
    assert (np.load("out/x.npz", allow_pickle=False)["x"] == x).all()
    assert (load_file("out/x.safetensors")["x"] == x).all()
    assert (np.loadtxt("out/x.csv", delimiter=",", skiprows=1, dtype=np.float32) == x).all()


def test_sample_overwrites_only_by_force_and_refuses_what_it_cannot_do(folder):
    (folder / "g.yaml").write_text("ebmkit: 1\nmodel: {use: gaussian, mean: [0, 0]}\nsampler: exact\ndevice: cpu\n")
    words = ["sample", "g.yaml", "-n", "7", "--out", "g.csv"]
    assert invoke(*words).exit_code == 0
    before = (folder / "g.csv").read_bytes()
    refused = invoke(*words, "--seed", "8")
    assert refused.exit_code == 2
    assert (folder / "g.csv").read_bytes() == before
    assert invoke(*words, "--seed", "8", "--force", "--plot", "g.png").exit_code == 0
    assert (folder / "g.csv").read_bytes() != before
    assert (folder / "g.png").read_bytes().startswith(b"\x89PNG")
    assert invoke("sample", "g.yaml", "-n", "7", "--out", "g.pkl").exit_code == 2
    assert "must be trained first" in invoke("sample", "verb.yaml", "-n", "7", "--out", "h.npy").output
    assert invoke("sample", str(folder), "-n", "7", "--out", "h.npy").exit_code == 2


@pytest.mark.parametrize(("number", "exit_status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_a_run_and_say_so(folder, number, exit_status):
    # Of these steps 500 make a line of metrics.
    running = started("run", "verb.yaml", "--set", "train.steps=100000")
    try:
        deadline = time.monotonic() + PATIENCE
        while not list(folder.glob("runs/*/*/metrics.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(number)
        _, errors = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()  # a test that fails leaves nothing running
    assert running.returncode == exit_status
    assert "Traceback" not in errors
    (run,) = folder.glob("runs/*/*")
    assert f"ebmkit resume {run.relative_to(folder)}" in errors
    record = json.loads((run / "run.json").read_text())
    assert record["status"] == "interrupted"
    assert (run / f"checkpoints/step-{record['step']:06d}/manifest.json").is_file()


def test_a_reader_that_goes_away_does_not_end_the_run(folder):
    words = [sys.executable, "-m", "ebmkit", "run", "verb.yaml", "--set", "train.steps=100"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.stdout.readline()
    running.stdout.close()  # as `head` does
    assert running.wait(timeout=PATIENCE) == 0, running.stderr.read()
    (path,) = folder.glob("runs/verb/*/run.json")
    assert json.loads(path.read_text())["status"] == "finished"
