"""The example plugin is what an outside author would publish."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins/ebmkit-itakura"


def python(*words, path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=PLUGIN, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("file", sorted(PLUGIN.rglob("*.py")), ids=lambda path: path.name)
def test_it_imports_public_names_only(file):
    modules = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    ours = {module for module in modules if module.split(".")[0] == "ebmkit"}
    assert ours
    assert ours <= {"ebmkit.api", "ebmkit.testing"}


def test_its_own_tests_pass_and_run_the_laws():
    done = python("pytest", "-v", "-p", "no:cacheprovider", path=[ROOT, PLUGIN / "src"])
    assert done.returncode == 0, done.stdout
    assert "test_law[bregman/itakura_saito/" in done.stdout


WRONG = """
from torch import Tensor

from ebmkit.api import Bregman, component, nonsense


@component("wrong")
class Wrong(Bregman):
    eps: float = 1.0

    def psi(self, u: Tensor) -> str:
        return "psi"


Wrong(eps="large")
"""


def test_it_is_type_checked_against_our_annotations(tmp_path):
    """ebmkit is found as an installed package is, by its `py.typed`; what breaks its types is refused."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    cache = ROOT / ".mypy_cache/plugins"  # one of its own: here ebmkit is not the package under work
    done = python("mypy", "--cache-dir", str(cache), "src", str(wrong), path=[ROOT])
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    # By name alone: from its cache mypy repeats the errors of the same text in the folder of an earlier test.
    assert {Path(line.partition(":")[0]).name for line in errors} == {wrong.name}, done.stdout
    codes = sorted(line.rpartition("[")[2].rstrip("]") for line in errors)
    assert codes == ["arg-type", "attr-defined", "override"], done.stdout


def test_its_metadata_are_whole():
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    assert {"description", "readme", "license", "authors", "requires-python"} <= set(project)
    assert (PLUGIN / project["readme"]).is_file()
    assert [(PLUGIN / file).is_file() for file in project["license-files"]] == [True]
    assert (PLUGIN / "src/ebmkit_itakura/py.typed").is_file()
    assert "../" not in (PLUGIN / "README.md").read_text()  # on PyPI there is nothing around it
