"""Each package in `plugins/` is what an outside author would publish: public names, types, metadata, tests, specs.

A new folder there is tested in the same way.
"""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
#: A package's own code uses what is promised to authors alone; its tests also run specs, as users do.
PUBLIC, PUBLIC_IN_TESTS = {"ebmkit.api"}, {"ebmkit", "ebmkit.api", "ebmkit.testing"}


class Package(NamedTuple):
    """A folder of `plugins/`."""

    folder: Path
    project: dict[str, Any]

    @property
    def modules(self) -> list[Path]:
        """The top-level packages under `src/`."""
        return sorted(path.parent for path in self.folder.glob("src/*/__init__.py"))

    @property
    def components(self) -> list[str]:
        """The names of the components that its sources declare."""
        lines = (line for file in self.folder.glob("src/**/*.py") for line in file.read_text().splitlines())
        return [line.split('"')[1] for line in lines if line.startswith("@component(")]


FILES = sorted(ROOT.glob("plugins/*/pyproject.toml"))
PACKAGES = [Package(file.parent, tomllib.loads(file.read_text())["project"]) for file in FILES]
each = pytest.mark.parametrize("package", PACKAGES, ids=[package.folder.name for package in PACKAGES])


def python(*words, path, cwd):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """All packages, built and installed by pip into one folder, which costs less than an environment of each."""
    target = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target))
    done = python("pip", "install", *options, *(str(package.folder) for package in PACKAGES), path=[], cwd=target)
    assert done.returncode == 0, done.stderr
    return target


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
    for file, ours in found.items():
        assert ours <= (PUBLIC if package.folder / "src" in file.parents else PUBLIC_IN_TESTS), file


@each
def test_its_own_tests_pass_and_run_the_laws(package, site):
    """As `pytest` in its folder runs them: nothing is left out but what the package itself marks as long."""
    done = python("pytest", "-v", "-p", "no:cacheprovider", path=[ROOT, site], cwd=package.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in package.components:
        assert f"/{name}/" in done.stdout, f"no law examines '{name}'"  # as in test_law[bregman/alpha/...]


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
    """ebmkit is found as an installed package is, by its `py.typed`; what breaks its types is refused. All packages by
    one command, which reads ebmkit once."""
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
    assert any(requirement.startswith("ebmkit-core") for requirement in project["dependencies"])
    assert set(project["entry-points"]["ebmkit"].values()) <= {module.name for module in package.modules}
    readme = (folder / "README.md").read_text()
    assert "../" not in readme  # on PyPI there is nothing around it
    assert not [name for name in package.components if name not in readme]


@each
def test_what_is_installed_is_all_of_it(package, site):
    for module in package.modules:
        files = {path.relative_to(module) for path in module.rglob("*") if path.suffix != ".pyc" and path.is_file()}
        installed = {path.relative_to(site / module.name) for path in (site / module.name).rglob("*") if path.is_file()}
        assert files <= installed


def test_all_their_specs_fit(site, tmp_path):
    """Validated by one process; each package has one."""
    specs = [path for package in PACKAGES for path in sorted(package.folder.glob("specs/*.yaml"))]
    assert {path.parents[1] for path in specs} == {package.folder for package in PACKAGES}
    done = python("ebmkit", "validate", *map(str, specs), path=[ROOT, site], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
