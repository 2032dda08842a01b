"""The first thing that a newcomer runs."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

SMALLER = ["train.steps=50", "sampler.steps=10", "data.size=500", "data.test_size=500", "samples=200"]
SMALLER += ["evaluate.0.samples=200"]


def run(folder, *words):
    command = [sys.executable, "-m", "ebmkit", "run", "quickstart", "--json", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout), done.stderr


def test_a_small_quickstart_leaves_a_whole_folder(tmp_path):
    status, result, told = run(tmp_path, *[word for change in SMALLER for word in ("--set", change)])
    assert status in (0, 6), told  # so short a training need not meet the expectation
    folder = tmp_path / result["folder"]
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {
        "spec.yaml",
        "resolved.yaml",
        "lock.yaml",
        "run.json",
        "log.txt",
        "metrics.jsonl",
        "checkpoints/step-000050/model.safetensors",
        "checkpoints/step-000050/mean.safetensors",
        "checkpoints/step-000050/manifest.json",
        "samples/samples.safetensors",
        "plots/summary.png",
        "report.html",
    } <= written
    assert json.loads((folder / "run.json").read_text())["status"] == "finished"
    assert Path(folder / "spec.yaml").read_text() == (Path(__file__).parents[2] / "specs/quickstart.yaml").read_text()


@pytest.mark.long
def test_five_seeds_of_the_quickstart_come_near_the_floor(tmp_path):
    """Sliced Wasserstein-1, 256 directions, 10,000 samples against 10,000 held-out points; data against data: 0.009."""
    found = []
    for seed in range(5):
        status, result, told = run(tmp_path, "--set", f"seed={seed}")
        assert status in (0, 6), told
        found.append(result["results"]["sliced_wasserstein"])
    print("sliced Wasserstein of seeds 0 to 4:", [f"{value:.4f}" for value in found])
    assert statistics.median(found) <= 0.020


@pytest.mark.long
def test_no_seed_of_twenty_diverges(tmp_path):
    """The whole training and the whole chain; fewer samples than usual, to save time."""
    sets = ["samples=1000", "evaluate.0.samples=1000", "samples_every=null"]
    found = []
    for seed in range(20):
        status, result, told = run(
            tmp_path, "--set", f"seed={seed}", *[w for change in sets for w in ("--set", change)]
        )
        assert status in (0, 6), told
        assert result["status"] == "finished"
        found.append(result["results"]["sliced_wasserstein"])
    print("sliced Wasserstein of seeds 0 to 19, 1,000 samples:", [f"{value:.4f}" for value in found])
    assert max(found) < 0.1
