"""How long lists of many runs take: CPU time of `ebmkit runs` over folders that are made up.

.venv/bin/python benchmarks/many_runs.py [COUNT]
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.store.made_up import made_up

COMMANDS = {
    "list": ["--json"],
    "table": [],
    "sort by a result": ["--sort", "kl_divergence", "--json"],
    "filter by a parameter": ["--where", "train.optimizer.lr<1e-3", "--json"],
    "columns": ["--csv", "--columns", "status,seed,objective,model.hidden,kl_divergence"],
}


def cpu_seconds(words: list[str]) -> float:
    """User and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = "from ebmkit.cli import main; main()"
    subprocess.run([sys.executable, "-c", program, *words], check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            made_up(Path(folder), number, objective=("nce", "mle")[number % 2])
        for name, words in COMMANDS.items():
            print(f"{name:<24}{cpu_seconds(['runs', folder, *words]):6.2f} CPU s for {count:,} runs", flush=True)


if __name__ == "__main__":
    main()
