"""What installed plugins cost the verbs that need none of them: CPU time with 50 small plugins, over that with none.

    .venv/bin/python benchmarks/plugins.py [ROUNDS]

User plus system time of the child process, interleaved, with a warm cache; medians of the ratios within a round. The
aims: `list` at most 1.2, `validate` of a spec that names none at most 1.02. A spec that names one plugin imports one.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNT = 50
MAIN = "from ebmkit.cli import main; main()"
COMMANDS = {
    "list": (["list"], 1.2),
    "validate quickstart": (["validate", "quickstart"], 1.02),
    "show sampler langevin": (["show", "sampler", "langevin"], None),
    "plugins": (["plugins"], None),
    "schema": (["schema"], None),
}

CODE = '''"""A small plugin."""
from typing import Annotated

from ebmkit.api import Bregman, Gt, component


@component("square")
class Square(Bregman):
    """psi(u) = scale u^2, number {number}.

    Parameters:
        scale: the factor.
    """

    scale: Annotated[float, Gt(0)] = 1.0

    def psi(self, u):
        return self.scale * u * u
'''

METADATA = """Metadata-Version: 2.4
Name: ebmkit-dummy{number}
Version: 1.0
Summary: A small plugin.
Requires-Dist: ebmkit-core>=0.1

# A small plugin
"""

SPEC = """ebmkit: 1
data: two_moons
model: mlp
objective: {use: bregman, generator: dummy7.square}
train: {steps: 1}
"""

IMPORTED = "import sys\nfrom ebmkit import load_spec\nload_spec('one.yaml')\n"
IMPORTED += "print(sum(name.startswith('dummy_plugin_') for name in sys.modules))"


def plant(folder: Path) -> None:
    """Install the plugins in a folder, as pip would."""
    for number in range(COUNT):
        package = folder / f"dummy_plugin_{number}"
        package.mkdir()
        (package / "__init__.py").write_text(CODE.replace("{number}", str(number)))
        info = folder / f"ebmkit_dummy{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(METADATA.format(number=number))
        (info / "entry_points.txt").write_text(f"[ebmkit]\ndummy{number} = dummy_plugin_{number}\n")
    (folder / "one.yaml").write_text(SPEC)


def environment(*folders: Path) -> dict[str, str]:
    path = os.pathsep.join(map(str, [ROOT, *folders]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def cpu_seconds(words: list[str], *folders: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", MAIN, *words]
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment(*folders), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plant(folder)
        for label, (words, aim) in COMMANDS.items():
            cold = cpu_seconds(words, folder)
            cpu_seconds(words)
            pairs = [(cpu_seconds(words), cpu_seconds(words, folder)) for _ in range(rounds)]
            none, many = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
            ratio = statistics.median(with_them / without for without, with_them in pairs)
            words_of_aim = f"at most {aim:g}" + (" MISSED" if ratio > aim else "") if aim else ""
            figures = f"{1000 * none:5.0f} ms {1000 * many:5.0f} ms {ratio:6.3f} x  (first {1000 * cold:.0f} ms)"
            print(f"{label:<24} {figures}  {words_of_aim}".rstrip())
        command = [sys.executable, "-c", IMPORTED]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment(folder), check=True)
        print(f"a spec that names one plugin imports {done.stdout.strip()} of {COUNT}")


if __name__ == "__main__":
    main()
