"""`ebmkit new plugin` and `ebmkit new component`: what they write works at once."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ebmkit.contracts.kinds import KINDS
from ebmkit.language.load import load_spec
from ebmkit.registry.loading import Plugins
from ebmkit.scaffold.names import plugin_names
from ebmkit.testing import Inapplicable, trials
from ebmkit.testing.laws import own_laws_of
from tests.cli.typed import ebmkit

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _modules_forgotten():
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("ebmkit_new"):
            del sys.modules[name]


def new(parent, kind, *words):
    ebmkit("new", "plugin", f"new_{kind}", "--kind", kind, "--into", str(parent), *words)
    return parent / f"ebmkit-new-{kind}"


def python(folder, *words):
    """With the package installed: its metadata, and its source on the path."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    ((namespace, module),) = project["entry-points"]["ebmkit"].items()
    site = folder.parent / f"site-{folder.name}"
    info = site / f"{module}-0.1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[ebmkit]\n{namespace} = {module}\n")
    path = os.pathsep.join(map(str, (ROOT, site, folder / "src")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_written_and_loads_and_its_spec_is_right(kind, tmp_path):
    folder = new(tmp_path, kind)
    for path in folder.rglob("*"):
        assert not path.is_file() or "{{" not in path.read_text().replace("${{", "")
    (cls,) = Plugins(folder).loaded[f"new_{kind}"].components
    assert (cls.component_kind, cls.component_name) == (kind, f"new_{kind}")
    plan = load_spec(folder / f"specs/new_{kind}.yaml", plugins=folder)
    assert [each.plugin.namespace for each in plan.plugins] == [f"new_{kind}"]
    assert {".github", ".gitignore", "LICENSE", "README.md", "pyproject.toml", "specs", "src", "tests"} == {
        path.name for path in folder.iterdir()
    }
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]  # nothing temporary is left


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_obeys_the_laws_of_its_kind(kind, tmp_path):
    """The contract of a kind may change without its template: each law in one case; all cases in the long test."""
    (cls,) = Plugins(new(tmp_path, kind)).loaded[f"new_{kind}"].components
    held = 0
    for trial in trials([cls], most=1):
        try:
            trial.run()
            held += 1
        except Inapplicable:
            pass
    assert held >= len(own_laws_of(kind)) // 2


def test_its_tests_pass(tmp_path):
    folder = new(tmp_path, "bregman")
    done = python(folder, "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_its_tests_pass_and_its_laws_hold_and_its_claim(kind, tmp_path):
    folder = new(tmp_path, kind)
    for words in (
        ("pytest", "-q", "-p", "no:cacheprovider"),
        ("ebmkit", "plugins", "check", "."),
        ("ebmkit", "run", f"specs/new_{kind}.yaml", "--no-report"),
    ):
        done = python(folder, *words)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_all_kinds_are_type_checked_and_linted(tmp_path):
    folders = [new(tmp_path, kind) for kind in KINDS]
    sources = [str(folder / part) for folder in folders for part in ("src", "tests")]
    done = python(folders[0], "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache/plugins"), *sources)
    assert done.returncode == 0, done.stdout
    for folder in folders:
        for words in (("check", "--select", "E,F,W,I,UP,B"), ("format", "--check")):
            done = python(folder, "ruff", *words, "--isolated", "--line-length", "120", ".")
            assert done.returncode == 0, done.stdout


def test_another_component_is_added_and_found(tmp_path):
    folder = new(tmp_path, "bregman")
    said = ebmkit("new", "component", "second", "--kind", "sampler", "--into", str(folder)).stdout
    assert f"wrote {folder}/src/ebmkit_new_bregman/second.py" in said
    found = [(cls.component_kind, cls.component_name) for cls in Plugins(folder).loaded["new_bregman"].components]
    assert sorted(found) == [("bregman", "new_bregman"), ("sampler", "second")]
    assert load_spec(folder / "specs/second.yaml", plugins=folder)
    assert (folder / "tests/test_second.py").is_file()


def test_a_package_of_another_author_takes_one_too(tmp_path):
    import shutil

    folder = tmp_path / "ebmkit-itakura"
    shutil.copytree(ROOT / "plugins/ebmkit-itakura", folder, ignore=shutil.ignore_patterns("__pycache__"))
    ebmkit("new", "component", "second", "--kind", "metric", "--into", str(folder))
    found = [cls.component_name for cls in Plugins(folder).loaded["itakura"].components]
    assert sorted(found) == ["itakura_saito", "second"]
    for name in [name for name in sys.modules if name.startswith("ebmkit_itakura")]:
        del sys.modules[name]


def test_nothing_is_overwritten(tmp_path):
    folder = new(tmp_path, "bregman")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    said = ebmkit("new", "plugin", "new_bregman", "--kind", "data", "--into", str(tmp_path), status=2).stderr
    assert f"{folder} exists" in said
    said = ebmkit("new", "component", "new_bregman", "--kind", "data", "--into", str(folder), status=2).stderr
    assert "new_bregman.py exists; choose another name" in said
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("Alpha Beta", "data", "cannot be the name of a plugin: it is made of lower-case letters"),
        ("Alpha Beta", "data", "such as 'alpha_beta'"),
        ("class", "data", "is no word of Python"),
        ("../alpha", "data", "cannot be the name of a plugin"),
        ("ebmkit", "data", "cannot be the name of a plugin"),
        ("ebmkit-report", "data", "cannot be the name of a plugin: 'ebmkit report' is a verb"),
        ("alpha", "samplr", "there is no kind 'samplr'; did you mean 'sampler'?"),
        ("alpha", "thing", "the kinds are "),
    ],
)
def test_a_wrong_name_is_refused_in_a_sentence(tmp_path, name, kind, says):
    said = ebmkit("new", "plugin", name, "--kind", kind, "--into", str(tmp_path), status=2).stderr
    assert says in " ".join(said.split())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_package_is_refused(tmp_path):
    assert (
        "has neither a pyproject.toml"
        in ebmkit("new", "component", "second", "--kind", "data", "--into", str(tmp_path), status=3).stderr
    )


@pytest.mark.parametrize(
    ("typed", "component", "found"),
    [
        ("alpha", None, ("ebmkit-alpha", "ebmkit_alpha", "alpha", "alpha", "Alpha")),
        ("ebmkit-two-words", "walk", ("ebmkit-two-words", "ebmkit_two_words", "two_words", "walk", "Walk")),
        ("alpha", "sampler", ("ebmkit-alpha", "ebmkit_alpha", "alpha", "sampler", "Sampler")),
        ("alpha", "bregman", ("ebmkit-alpha", "ebmkit_alpha", "alpha", "bregman", "BregmanBregman")),
    ],
)
def test_all_names_follow_from_one(typed, component, found):
    names = plugin_names(typed, "bregman", component)
    assert (names.distribution, names.module, names.namespace, names.component, names.cls) == found
