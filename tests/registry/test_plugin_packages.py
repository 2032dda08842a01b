"""Each package in `plugins/` is what an outside author would publish: public names, types, metadata, tests, specs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.registry.installed import ROOT, install, packages

PACKAGES = packages()
each = pytest.mark.parametrize("package", PACKAGES, ids=[package.folder.name for package in PACKAGES])


def python(*words, path, cwd):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder with all packages."""
    return install(tmp_path_factory.mktemp("site"))


@each
def test_it_imports_public_names_only(package):
    found = {}
    for file in sorted(package.folder.rglob("*.py")):
        modules = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                modules.add(node.module)
            elif isinstance(node, ast.Import):
                modules.update(alias.name for alias in node.names)
        found[file] = {module for module in modules if module and module.split(".")[0] == "ebmkit"}
    assert set().union(*found.values())
    # A package's own code uses the promise to authors alone; its tests and benchmarks may also run specs, as users do.
    for file, ours in found.items():
        src = package.folder / "src" in file.parents
        assert ours <= ({"ebmkit.api"} if src else {"ebmkit", "ebmkit.api", "ebmkit.testing"}), file


@each
def test_its_own_tests_pass_and_run_the_laws(package, site):
    """Also by `pytest` alone in its folder: nothing is left out but what it marks as long itself."""
    done = python("pytest", "-v", "-p", "no:cacheprovider", path=[ROOT, site], cwd=package.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    if any(namespace_kinds(package)):
        assert "test_law[" in done.stdout


def namespace_kinds(package):
    """Whether its sources declare components, which the laws of their kinds are for."""
    return ["@component(" in file.read_text() for file in package.folder.glob("src/**/*.py")]


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


def test_they_are_type_checked_against_our_annotations(tmp_path):
    """ebmkit is found as an installed package is, by its `py.typed`; what breaks its types is refused. All packages at
    once, by one strict configuration, so that ebmkit is read once."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    cache = ROOT / ".mypy_cache/plugins"  # one of its own: here ebmkit is not the package under work
    sources = [str(module) for package in PACKAGES for module in package.modules]
    words = ("--strict", "--config-file", os.devnull, "--cache-dir", str(cache))
    done = python("mypy", *words, *sources, str(wrong), path=[ROOT], cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    # By name alone: from its cache mypy repeats the errors of the same text in the folder of an earlier test.
    assert {Path(line.partition(":")[0]).name for line in errors} == {wrong.name}, done.stdout + done.stderr
    codes = sorted(line.rpartition("[")[2].rstrip("]") for line in errors)
    assert codes == ["arg-type", "attr-defined", "override"], done.stdout


@each
def test_its_metadata_are_whole(package):
    folder, project = package
    assert {"description", "readme", "license", "authors", "requires-python"} <= set(project)
    assert (folder / project["readme"]).is_file()
    assert [(folder / file).is_file() for file in project["license-files"]] == [True]
    assert package.modules
    assert all((module / "py.typed").is_file() for module in package.modules)
    assert "../" not in (folder / "README.md").read_text()  # on PyPI there is nothing around it
    assert any(requirement.startswith("ebmkit-core") for requirement in project["dependencies"])
    assert set(project["entry-points"]["ebmkit"].values()) <= {module.name for module in package.modules}


@each
def test_its_readme_names_every_component(package):
    """A reader of PyPI sees what a spec can name."""
    readme = (package.folder / "README.md").read_text()
    for file in package.folder.glob("src/**/*.py"):
        for line in file.read_text().splitlines():
            if line.startswith("@component("):
                assert line.split('"')[1] in readme, line


def test_all_specs_of_all_packages_fit(site, tmp_path):
    """Validated together, by one process; at least one of each package states a claim."""
    specs = [path for package in PACKAGES for path in sorted(package.folder.glob("specs/*.yaml"))]
    assert {path.parents[1] for path in specs} == {package.folder for package in PACKAGES}
    done = python("ebmkit", "validate", *map(str, specs), path=[ROOT, site], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
