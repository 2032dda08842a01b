"""The libraries beside which ebmkit is measured, in an environment of their own.

torchebm, the library that PyPI calls ebmkit (import name `ebm`, no relation), learnergy and scikit-learn. The
environment is made in .cache/benchmark on the first call, and ebmkit joins them there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".cache" / "benchmark"
PEERS = ("torchebm==0.8.9", "ebmkit==0.16.0", "learnergy==2.0.2")
#: Memory that is freed stays with the process. Else it is a matter of luck who has to fetch it back, page by page, and
#: with large states that takes a tenth of the time.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_MMAP_MAX_": "0"}


def enter_the_environment() -> None:
    """Make it, if it is not there, and start this file again inside."""
    if Path(sys.prefix).resolve() == ENVIRONMENT and ALLOCATOR.items() <= os.environ.items():
        return
    python, done = ENVIRONMENT / "bin" / "python", ENVIRONMENT / f"installed {' '.join(PEERS)}"
    if not done.exists():
        print(f"installing {', '.join(PEERS)} into {ENVIRONMENT.relative_to(ROOT)} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
        # What is measured of these peers needs torch and nothing else; ebmkit and the constraint say which.
        subprocess.run([*pip, "-c", ROOT / "constraints-cpu.txt", "-e", ROOT, "scikit-learn"], check=True)
        subprocess.run([*pip, "--no-deps", *PEERS], check=True)
        done.touch()
    os.execve(python, [str(python), *sys.argv], {**os.environ, **ALLOCATOR})
