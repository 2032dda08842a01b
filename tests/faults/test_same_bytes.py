"""The same spec and seed give the same bytes, in whatever process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from . import nursery
from .remains import different, remains
from .specs import SHORT


def processes(count: int, spec: Path, folder: Path, command: Sequence[str]) -> Iterator[Path]:
    """The runs of so many new processes, two at a time, each in surroundings that should not matter."""
    waiting = []
    for number in range(count):
        home = folder / f"home{number}"
        home.mkdir()
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(number),  # the order of sets
            "TZ": ["UTC", "Asia/Tokyo"][number % 2],
            "OMP_NUM_THREADS": str(1 + number % 2),  # the run sets its own
            "LC_ALL": "C",
        }
        words = [sys.executable, *command, "run", spec, "--runs-dir", home / "runs", "--quiet"]
        waiting.append(subprocess.Popen(words, cwd=home, env=environment, stdout=subprocess.PIPE, text=True))
        if len(waiting) == 2 or number == count - 1:
            for process in waiting:
                said, _ = process.communicate()
                assert process.returncode == 0
                yield Path(said.strip())
            waiting = []


def agree(count: int, spec: Path, folder: Path, *command: str) -> None:
    first, *others = (remains(run) for run in processes(count, spec, folder, command))
    assert len(others) == count - 1
    assert any(name.endswith("model.safetensors") for name in first)
    assert {"metrics.jsonl", "samples/samples.safetensors", "plots/summary.png"} <= first.keys()
    assert [different(first, other) for other in others] == [[]] * (count - 1)


def test_two_processes_write_the_same_bytes(written, tmp_path):
    agree(2, written(SHORT), tmp_path, nursery.__file__)  # without the pictures


@pytest.mark.long
def test_ten_processes_write_the_same_bytes(written, tmp_path):
    agree(10, written(SHORT), tmp_path, "-m", "ebmkit")
