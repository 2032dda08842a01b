"""Without torch, or with one that cannot be imported, a sentence says so at a line of the spec, with exit status 3."""

import json
import os
import subprocess
import sys

import pytest

from ebmkit import load_spec
from ebmkit.engine import session
from ebmkit.engine.limit import Limit

#: Python imports a module of this name at the start of every process.
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise {error}

sys.meta_path.insert(0, Blocker())
"""

ERRORS = {
    "missing": ("""ModuleNotFoundError("No module named 'torch'", name="torch")""", "which is not installed"),
    "broken": (
        """ImportError("libtorch_cpu.so: cannot open shared object file")""",
        "which cannot be imported: ImportError: libtorch_cpu.so",
    ),
    "library": ("""OSError(2, "libgomp.so.1: no such file")""", "which cannot be imported: FileNotFoundError"),
}

SPEC = {
    "ebmkit": 1,
    "data": "rings",
    "model": {"use": "mlp", "hidden": [4]},
    "objective": "nce",
    "train": {"steps": 2, "batch_size": 8},
    "sampler": {"use": "langevin", "steps": 2},
    "samples": 8,
    "evaluate": [{"use": "sliced_wasserstein", "samples": 8}],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run and a paused one, made with torch."""
    folder, plan = tmp_path_factory.mktemp("runs"), load_spec(SPEC)
    return session.run(plan, runs_dir=folder).folder, session.run(plan, runs_dir=folder, limit=Limit(steps=1)).folder


@pytest.fixture
def without_torch(tmp_path, request):
    (tmp_path / "sitecustomize.py").write_text(BLOCKER.format(error=ERRORS[getattr(request, "param", "missing")][0]))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


#: Calls all verbs in one process, which is much faster than one process each.
VERBS = """
import json, sys
from click.testing import CliRunner
from ebmkit.cli import group
for words in json.load(sys.stdin):
    result = CliRunner().invoke(group, words, prog_name="ebmkit")
    print(json.dumps([result.exit_code, result.output, repr(result.exception)]))
"""


def say(code, environment, words=""):
    done = subprocess.run(
        [sys.executable, "-c", code], input=words, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("without_torch", ERRORS, indirect=True)
def test_every_verb_that_needs_torch_says_so(without_torch, runs, tmp_path, request):
    finished, paused = map(str, runs)
    (tmp_path / "spec.yaml").write_text(json.dumps(SPEC, indent=1))
    calls = [
        ["run", str(tmp_path / "spec.yaml"), "--runs-dir", str(tmp_path / "runs")],
        ["run", "quickstart", "--dry-run"],
        ["resume", paused],
        ["sample", finished, "--out", str(tmp_path / "x.npz")],
        ["sample", "sampling", "--runs-dir", str(tmp_path / "runs")],
        ["evaluate", finished],
        ["report", finished],
        ["reproduce", finished, "--runs-dir", str(tmp_path / "runs")],
        ["schedule", "suggest", "gallery/ncsn-digits"],
    ]
    words = ERRORS[request.node.callspec.params["without_torch"]][1]
    for call, line in zip(calls, say(VERBS, without_torch, json.dumps(calls)).splitlines(), strict=True):
        status, said, error = json.loads(line)
        assert status == 3, (call, error)
        assert f"error[E305]: this spec needs the package 'torch', {words}" in said
        assert ".yaml:" in said.partition("-->")[2]  # the line of the model
        assert "pip install torch" in said
    assert not (tmp_path / "runs").exists()


def test_verbs_that_need_no_torch_work(without_torch, runs):
    calls = [["validate", "quickstart"], ["resolve", "quickstart"], ["list"], ["runs", str(runs[0].parent)], ["schema"]]
    calls += [["diff", str(runs[0]), str(runs[0])], ["show", "sampler", "langevin"], ["explain", "E305"]]
    for call, line in zip(calls, say(VERBS, without_torch, json.dumps(calls)).splitlines(), strict=True):
        assert json.loads(line)[0] == 0, (call, line)


PYTHON = """
import sys, ebmkit
from ebmkit.errors.running import EnvironmentLacks
run = ebmkit.open_run(sys.stdin.readline().strip())
calls = [lambda: ebmkit.run("quickstart"), lambda: ebmkit.resume(run.folder), lambda: run.model, lambda: run.samples]
for call in [*calls, lambda: run.metrics, lambda: run.sample(3)]:
    try:
        call()
    except EnvironmentLacks as error:
        print(error.message)
"""


def test_python_raises_the_same(without_torch, runs):
    said = say(PYTHON, without_torch, f"{runs[0]}\n").splitlines()
    assert said == ["this spec needs the package 'torch', which is not installed"] * 6


@pytest.mark.parametrize("without_torch", ["broken"], indirect=True)
def test_doctor_says_it(without_torch):
    status, said, _ = json.loads(say(VERBS, without_torch, json.dumps([["doctor"]])))
    assert status == 3
    assert "torch             cannot be imported: ImportError: libtorch_cpu.so" in said
