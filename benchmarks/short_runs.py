"""CPU seconds of runs of one step, with and without a report, and of previews.

python benchmarks/short_runs.py [REPEATS]

Each run is a process of its own; medians of user and system time over interleaved repetitions. The first line is the
import of torch, which no run can avoid.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from resource import RUSAGE_CHILDREN, getrusage

ONE = ["--set", "train.steps=1", "--unset", "expect"]
FEW = ["--set", "samples=100", "--unset", "evaluate"]
#: Words after `ebmkit run`.
RUNS = {
    "quickstart, 1 step, few samples": ["quickstart", *ONE, *FEW, "--set", "sampler.steps=10"],
    "quickstart, 1 step, its 10,000 samples": ["quickstart", *ONE],
    "digits, conv, 1 step": ["gallery/contrastive-divergence-digits", *ONE, *FEW],
    "score network, 1 step": ["gallery/vp-two-moons", *ONE, *FEW],
}
PREVIEWS = ["quickstart", "--unset", "expect", *FEW, "--no-report"]


def cpu_seconds(words: list[str]) -> float:
    """User and system time of a process."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(repeats: int) -> None:
    """Print a line for each case."""
    with tempfile.TemporaryDirectory() as runs:
        run = ["-m", "ebmkit", "run", "--quiet", "--runs-dir", runs]
        cases = {"import torch": ["-c", "import torch"]}
        for name, words in RUNS.items():
            cases[name] = [*run, *words]
            cases[f"{name}, no report"] = [*run, *words, "--no-report"]
        cases["quickstart, 3,000 steps, no previews"] = [*run, *PREVIEWS, "--set", "samples_every=null"]
        cases["quickstart, 3,000 steps, previews"] = [*run, *PREVIEWS]
        seconds: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(repeats):
            for name, words in cases.items():
                seconds[name].append(cpu_seconds(words))
    for name, measured in seconds.items():
        print(f"{statistics.median(measured):7.2f}  {name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
