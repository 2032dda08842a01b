"""Ten times as many draws need hardly more memory: neither to make and measure them, nor to draw the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads its memory from /proc")

#: Runs a spec, and prints how much memory it used beyond files, which the system takes back whenever it needs it.
SCRIPT = """
import json, sys, threading, time
from ebmkit import load_spec
from ebmkit.contracts import draws as contract
from ebmkit.diagnostics import coordinates
from ebmkit.engine.session import run
from ebmkit.storage import columns
from ebmkit.report.drawing import draw_run

def anonymous():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1]) * 1024

def watch():
    while True:
        peak[0] = max(peak[0], anonymous())
        time.sleep(0.002)

# Smaller blocks for chains that are shorter than those for which they are made.
contract.BLOCK, coordinates.BLOCK, coordinates.SLAB, columns.BLOCK = 1 << 16, 1 << 16, 1 << 17, 1 << 19
spec, runs, draws = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3] == "report"
plan = load_spec(spec)
run(load_spec({**spec, "samples": 400}), runs_dir=runs, draw=draw_run if draws else None)  # imports
before, peak = anonymous(), [0]
threading.Thread(target=watch, daemon=True).start()
record = run(plan, runs_dir=runs, draw=draw_run if draws else None)
print(peak[0] - before, (record.folder / "chains" / "x.safetensors").stat().st_size)
"""


def used(samples: int, coordinates: int, folder: Path, report: str) -> tuple[int, int]:
    """Bytes of memory, and of draws."""
    spec = {
        "ebmkit": 1,
        "name": "large",
        "device": "cpu",
        "dtype": "float64",
        "model": {"use": "gaussian", "mean": [0.0] * coordinates},
        "sampler": {"use": "langevin", "step_size": 0.5},
        "chains": {"count": 8, "burn_in": 0},
        "samples": samples,
        "evaluate": ["ess", "rhat", {"use": "moments", "samples": 1000}] if report == "report" else [],
    }
    command = [sys.executable, "-c", SCRIPT, json.dumps(spec), str(folder), report]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    memory, size = map(int, ended.stdout.split())
    return memory, size


def compare(samples: int, coordinates: int, folder: Path, report: str) -> None:
    (few, little), (many, much) = (used(n, coordinates, folder, report) for n in (samples, 10 * samples))
    print(f"{little:,} bytes of draws: {few:,} of memory; {much:,}: {many:,}")
    assert many - few < (much - little) / 4


def test_a_run(tmp_path):
    compare(2_500, 200, tmp_path, "none")


@pytest.mark.long
def test_a_run_with_a_report(tmp_path):
    compare(10_000, 400, tmp_path, "report")
