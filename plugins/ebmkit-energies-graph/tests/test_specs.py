"""The specs of this package, where it is installed."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

SPECS = sorted((Path(__file__).parents[1] / "specs").glob("*.yaml"))
each = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)


@pytest.fixture(scope="module", autouse=True)
def installed():
    try:
        version("ebmkit-energies-graph")
    except PackageNotFoundError:
        pytest.skip("ebmkit-energies-graph is not installed: pip install -e .")


def ebmkit(*words):
    return subprocess.run([sys.executable, "-m", "ebmkit", *map(str, words)], capture_output=True, text=True)


@each
def test_it_is_valid(spec):
    done = ebmkit("validate", spec)
    assert done.returncode == 0, done.stderr


@each
def test_its_claim_is_unmet_after_one_step(spec, tmp_path):
    """So that the training is what meets it. A claim takes half a minute to meet: run the spec."""
    small = ("train.steps=1", "data.size=1000", "data.test_size=1000", "samples=200")
    options = [word for each in small for word in ("--set", each)]
    done = ebmkit("run", spec, *options, "--runs-dir", tmp_path, "--no-report")
    assert done.returncode == 6, done.stdout + done.stderr
    assert "expected below" in done.stderr
