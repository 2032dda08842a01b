"""Code that is edited between two runs of one process, as in a notebook."""

import importlib
import sys

import pytest

import ebmkit
from ebmkit.errors.base import Mistakes
from tests.planted import GENERATOR

SPEC = {
    "ebmkit": 1,
    "data": {"use": "two_moons", "size": 100},
    "model": {"use": "mlp", "hidden": [4]},
    "objective": {"use": "bregman", "generator": "mine.square"},
    "train": {"steps": 1},
    "sampler": {"use": "langevin", "steps": 1},
}
#: As many characters, within the same second.
EDITED = GENERATOR.replace("u * u", "u ** 3")

pytestmark = pytest.mark.usefixtures("one_thread", "undrawn")


def loss_and_hash(folder, plugins=()):
    record = ebmkit.run(SPEC, plugins=plugins, runs_dir=folder / "runs", report=False)
    run = ebmkit.open_run(record.folder, plugins=plugins)
    (plugin,) = run.plan.plugins
    return run.metrics["loss"][0][1], plugin.sha256


def test_a_file_is_read_each_time(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GENERATOR)
    first = loss_and_hash(tmp_path, [file])
    assert loss_and_hash(tmp_path, [file]) == first
    file.write_text(EDITED)
    second = loss_and_hash(tmp_path, [file])
    assert second[0] != first[0]
    assert second[1] != first[1]


def test_a_mistake_in_the_edit_is_reported_and_its_repair_works(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GENERATOR)
    first = loss_and_hash(tmp_path, [file])
    file.write_text(GENERATOR + "1 / 0\n")
    with pytest.raises(Mistakes, match="importing it raised ZeroDivisionError"):
        loss_and_hash(tmp_path, [file])
    file.write_text(GENERATOR)
    assert loss_and_hash(tmp_path, [file]) == first


def test_an_installed_package_that_is_edited_in_place_is_imported_again(tmp_path, install):
    module = install("mine", GENERATOR)
    first = loss_and_hash(tmp_path)
    imported = sys.modules[module]
    assert loss_and_hash(tmp_path) == first
    assert sys.modules[module] is imported
    (tmp_path / f"{module}.py").write_text(EDITED)
    second = loss_and_hash(tmp_path)
    assert second[0] != first[0]
    assert second[1] != first[1]


def test_so_is_a_module_that_it_imports(tmp_path, install):
    """The hash of the plugin is that of its whole package."""
    module = install("mine", None)
    package = tmp_path / module
    (package / "__init__.py").write_text(
        f"from {module}.formula import power\n" + GENERATOR.replace("u * u", "power(u)")
    )
    (package / "formula.py").write_text("def power(u):\n    return u * u\n")
    importlib.invalidate_caches()
    first = loss_and_hash(tmp_path)
    (package / "formula.py").write_text("def power(u):\n    return u ** 3\n")
    second = loss_and_hash(tmp_path)
    assert second[0] != first[0]
    assert second[1] != first[1]
