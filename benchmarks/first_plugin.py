"""From nothing to a trained spec with a plugin of one's own: five commands, and the time that they take.

    .venv/bin/python benchmarks/first_plugin.py [--kind KIND]

The commands are those of docs/plugins/tutorial.md. The package is installed without its dependencies, which are
there already, and is removed at the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAME = "first_plugin_benchmark"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="bregman")
    options = parser.parse_args()
    python, folder = sys.executable, f"ebmkit-{NAME.replace('_', '-')}"
    commands = [
        [python, "-m", "ebmkit", "new", "plugin", NAME, "--kind", options.kind],
        [python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", f"./{folder}"],
        [python, "-m", "ebmkit", "plugins", "check", NAME],
        [python, "-m", "pytest", "-q", folder],
        [python, "-m", "ebmkit", "run", f"{folder}/specs/{NAME}.yaml"],
    ]
    print("| command | seconds | CPU seconds |\n|---|---:|---:|")
    total = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as place:
        try:
            for command in commands:
                wall, processor = time.perf_counter(), cpu_of_children()
                done = subprocess.run(command, cwd=place, capture_output=True, text=True)
                taken = time.perf_counter() - wall, cpu_of_children() - processor
                total = [one + other for one, other in zip(total, taken, strict=True)]
                said = " ".join("python" if word == python else word for word in command)
                print(f"| `{said}` | {taken[0]:.1f} | {taken[1]:.1f} |", flush=True)
                if done.returncode:
                    sys.exit(f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        finally:
            subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", folder], cwd=Path(place).parent)
    print(f"| all {len(commands)} | {total[0]:.1f} | {total[1]:.1f} |")


def cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
