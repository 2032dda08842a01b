"""CPU time of the torch-free verbs, in multiples of `python -c pass`.

    .venv/bin/python benchmarks/startup.py

User plus system time of the child process, interleaved, median of 15 rounds. The aims: `--help` at most 6, `list` and
`validate` at most 25.
"""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

EBMKIT = str(Path(sys.executable).with_name("ebmkit"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "ebmkit --help": [EBMKIT, "--help"],
    "ebmkit list": [EBMKIT, "list"],
    "ebmkit validate quickstart": [EBMKIT, "validate", "quickstart"],
    "ebmkit resolve quickstart": [EBMKIT, "resolve", "quickstart"],
    "ebmkit show sampler langevin": [EBMKIT, "show", "sampler", "langevin"],
    "ebmkit plugins": [EBMKIT, "plugins"],
    "ebmkit schema": [EBMKIT, "schema"],
}


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    rounds = [{name: cpu_seconds(command) for name, command in COMMANDS.items()} for _ in range(15)]
    medians = {name: statistics.median(times[name] for times in rounds) for name in COMMANDS}
    bare = medians["python -c pass"]
    for name, seconds in medians.items():
        print(f"{name:<30} {1000 * seconds:6.0f} ms {seconds / bare:6.1f} x")


if __name__ == "__main__":
    main()
