"""`--plugin FOLDER`: a package that need not be installed."""

import subprocess
import sys

import pytest

from ebmkit.engine.folder.lockfile import lock
from ebmkit.errors.base import EbmkitError
from ebmkit.language.load import load_spec
from ebmkit.registry.loading import Plugins
from tests.planted import GENERATOR

PROJECT = """
[project]
name = "ebmkit-source"
version = "0.2"
dependencies = ["ebmkit-core>=0.1"]
[project.entry-points.ebmkit]
source = "ebmkit_source.components"
more = "ebmkit_source.more"
"""
MORE = GENERATOR.replace("square", "cube").replace("Square", "Cube").replace("u * u", "u**3")
SPEC = {
    "ebmkit": 1,
    "plugins": {"source": "ebmkit-source>=0.1"},
    "data": "two_moons",
    "model": "mlp",
    "objective": {"use": "bregman", "generator": "source.square"},
    "train": {"steps": 1},
}


@pytest.fixture
def folder(tmp_path):
    package = tmp_path / "ebmkit-source/src/ebmkit_source"
    package.mkdir(parents=True)
    (tmp_path / "ebmkit-source/pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").touch()
    (package / "components.py").write_text(GENERATOR)
    (package / "more.py").write_text("from ebmkit_source.components import Square\n" + MORE)
    yield tmp_path / "ebmkit-source"
    for name in [name for name in sys.modules if name.partition(".")[0] == "ebmkit_source"]:
        del sys.modules[name]


def test_every_entry_point_is_loaded_and_meets_the_requirement_of_a_spec(folder):
    plan = load_spec(SPEC, plugins=folder)
    found = {each.plugin.namespace: each for each in plan.plugins}
    assert found.keys() == {"source", "more"}
    assert (found["source"].plugin.distribution, found["source"].plugin.version) == ("ebmkit-source", "0.2")
    assert len(found["source"].sha256) == 64


def test_the_lock_says_that_it_was_not_installed_and_what_it_was(folder):
    from ebmkit.engine.build import build

    plan = load_spec(SPEC, plugins=folder)
    entry = lock(plan, build(plan))["plugins"]["source"]
    assert entry["distribution"] is None
    assert len(entry["sha256"]) == 64
    changed = folder / "src/ebmkit_source/components.py"
    changed.write_text(changed.read_text() + "# edited\n")
    again = load_spec(SPEC, plugins=folder)
    assert lock(again, build(again))["plugins"]["source"]["sha256"] != entry["sha256"]


def test_an_edited_file_is_read_again(folder):
    before = Plugins(folder).loaded["source"].components
    file = folder / "src/ebmkit_source/components.py"
    file.write_text(file.read_text().replace('"square"', '"quadrat"'))
    after = Plugins(folder).loaded["source"].components
    assert [cls.component_name for cls in (*before, *after)] == ["square", "quadrat"]


def test_it_takes_the_place_of_the_installed_package(folder, install):
    install("source", GENERATOR, distribution="ebmkit-source", version="0.1")
    loaded = Plugins(folder).loaded["source"]
    assert loaded.plugin.version == "0.2"
    assert loaded.module == "ebmkit_source.components"


def test_another_distribution_keeps_its_namespace(folder, install):
    install("source", GENERATOR, distribution="ebmkit-other")
    with pytest.raises(EbmkitError, match="'ebmkit-other' both claim the namespace 'source'"):
        Plugins(folder)


def test_a_package_without_a_project_is_named_after_its_folder(tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/__init__.py").write_text(GENERATOR)
    (cls,) = Plugins(tmp_path / "bare").loaded["bare"].components
    assert cls.component_name == "square"


@pytest.mark.parametrize(
    ("project", "says"),
    [
        (None, "has neither a pyproject.toml nor an __init__.py"),
        ("[project", "cannot be read"),
        ("[project]\nname = 'x'\n", "names no plugin"),
        (PROJECT.replace("ebmkit-core>=0.1", "ebmkit"), "another project on PyPI"),
        (PROJECT.replace("ebmkit-core>=0.1", "ebmkit-core>=99"), "it needs ebmkit-core>=99"),
        (
            PROJECT.replace('"ebmkit_source.components"', '"elsewhere"'),
            "names the module 'elsewhere', which is neither",
        ),
        (PROJECT.replace("\nsource =", "\nBig ="), "a namespace is made of"),
        (PROJECT.replace('"ebmkit_source.components"', '"json"'), "names the module 'json', which is neither"),
    ],
)
def test_a_folder_that_is_no_plugin_is_refused_with_the_reason(folder, project, says):
    (folder / "pyproject.toml").unlink()
    if project is not None:
        (folder / "pyproject.toml").write_text(project)
    with pytest.raises(EbmkitError) as raised:
        Plugins(folder)
    assert says in str(raised.value)
    assert raised.value.place is not None


def test_a_package_does_not_replace_a_module_that_is_already_imported(folder):
    (folder / "src/json").mkdir()
    (folder / "src/json/__init__.py").write_text(GENERATOR)
    (folder / "pyproject.toml").write_text(PROJECT.replace('"ebmkit_source.components"', '"json"'))
    with pytest.raises(EbmkitError, match="a module 'json' was already imported from"):
        Plugins(folder)
    import json

    assert json.dumps([1]) == "[1]"


def test_a_spec_is_run_with_it_by_the_command_line(folder):
    spec = folder / "spec.yaml"
    spec.write_text(
        "ebmkit: 1\ndata: {use: two_moons, size: 50}\nmodel: {use: mlp, hidden: [4]}\n"
        "objective: {use: bregman, generator: source.square}\ntrain: {steps: 1}\n"
        "sampler: {use: langevin, steps: 2}\nsamples: 5\n"
    )
    words = ["run", str(spec), "--plugin", str(folder), "--runs-dir", str(folder / "runs"), "--no-report"]
    command = [sys.executable, "-m", "ebmkit", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "sha256" in next((folder / "runs").rglob("lock.yaml")).read_text()
