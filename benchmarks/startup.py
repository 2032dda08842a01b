"""CPU time of the torch-free verbs, in multiples of `python -c pass`.

    .venv/bin/python benchmarks/startup.py [ROUNDS]

User plus system time of the child process, interleaved, median of 31 rounds; the multiples are medians of the ratios
within a round, so that a machine with other work to do disturbs them little. The files of ebmkit are compiled
beforehand, as an installer does. The aims: `--help` at most 5, `list` and `validate` at most 20.
"""

import compileall
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EBMKIT = [sys.executable, "-c", "from ebmkit.cli import main; main()"]  # what the installed script says
BARE = "python -c pass"
COMMANDS = {
    BARE: [sys.executable, "-c", "pass"],
    "python -c 'import click'": [sys.executable, "-c", "import click"],
    "ebmkit --help": [*EBMKIT, "--help"],
    "ebmkit list": [*EBMKIT, "list"],
    "ebmkit validate quickstart": [*EBMKIT, "validate", "quickstart"],
    "ebmkit resolve quickstart": [*EBMKIT, "resolve", "quickstart"],
    "ebmkit show sampler langevin": [*EBMKIT, "show", "sampler", "langevin"],
    "ebmkit plugins": [*EBMKIT, "plugins"],
    "ebmkit schema": [*EBMKIT, "schema"],
}
AIMS = {"ebmkit --help": 5.0, "ebmkit list": 20.0, "ebmkit validate quickstart": 20.0}


def cpu_seconds(command: list[str]) -> float:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    compileall.compile_dir(ROOT / "ebmkit", quiet=1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    rounds = [{name: cpu_seconds(command) for name, command in COMMANDS.items()} for _ in range(count)]
    for name in COMMANDS:
        seconds = statistics.median(times[name] for times in rounds)
        multiple = statistics.median(times[name] / times[BARE] for times in rounds)
        aim = f"at most {AIMS[name]:g}" if name in AIMS else ""
        missed = "MISSED" if multiple > AIMS.get(name, multiple) else ""
        print(f"{name:<30} {1000 * seconds:6.0f} ms {multiple:6.1f} x  {aim} {missed}".rstrip())


if __name__ == "__main__":
    main()
