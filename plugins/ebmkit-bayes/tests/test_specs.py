"""The specs of this package, where it is installed."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

SPECS = sorted((Path(__file__).parents[1] / "specs").glob("*.yaml"))


@pytest.fixture(scope="module", autouse=True)
def installed():
    try:
        version("ebmkit-bayes")
    except PackageNotFoundError:
        pytest.skip("ebmkit-bayes is not installed: pip install -e .")


def ebmkit(*words):
    return subprocess.run([sys.executable, "-m", "ebmkit", *map(str, words)], capture_output=True, text=True)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_it_is_valid(spec):
    done = ebmkit("validate", spec)
    assert done.returncode == 0, done.stderr


def test_the_simplex_keeps_its_claim(tmp_path):
    done = ebmkit("run", SPECS[0].with_name("dirichlet.yaml"), "--runs-dir", tmp_path, "--no-report")
    assert done.returncode == 0, done.stderr
    assert "mean(p[3])" in done.stdout


def test_a_quantity_that_does_not_exist_is_refused_at_its_line(tmp_path):
    (tmp_path / "spec.yaml").write_text(SPECS[0].with_name("dirichlet.yaml").read_text().replace('"p[3]"]', '"p[4]"]'))
    done = ebmkit("validate", tmp_path / "spec.yaml")
    assert done.returncode == 2
    assert "knows no quantity 'p[4]'" in done.stderr
