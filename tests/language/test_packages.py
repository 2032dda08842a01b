"""Optional packages of components: what is missing is said before a run folder is created."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from ebmkit.cli.doctor_checks import METHODS
from ebmkit.components.trackers.tensorboard import TensorBoard
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.experiment import Run, open_run, run
from ebmkit.language.load import load_spec
from ebmkit.registry.loading import Plugins
from ebmkit.testing import examine
from tests.cli.typed import ebmkit

SAMPLING = "ebmkit: 1\nmodel: {use: gaussian, mean: [0, 0]}\nsampler: exact\nsamples: 50\ndevice: cpu\n"
NEEDY = """
from ebmkit.api import Metric, component

@component("needy")
class Needy(Metric):
    \"\"\"Needs what no machine has.\"\"\"

    needs_packages = {"no_such_package.inside": "ebmkit-needy[all]"}

    def results(self):
        return ("needy",)

    def measure(self, view):
        import no_such_package.inside

        return {"needy": no_such_package.inside.value}
"""


@pytest.fixture
def without(monkeypatch):
    """Python's own way to say that a package cannot be imported."""
    return lambda package: monkeypatch.setitem(sys.modules, package, None)


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def spec(more):
        Path("spec.yaml").write_text(SAMPLING + more)
        return "spec.yaml"

    return spec


@pytest.mark.parametrize("verb", ["validate", "resolve", "run", "sample"])
def test_a_missing_package_is_an_error_at_the_line_of_its_component(spec, without, verb):
    without("tensorboard")
    said = ebmkit(verb, spec("trackers:\n  - jsonl\n  - tensorboard\n"), status=3).stderr
    assert "error[E305]: tracker 'tensorboard' needs the package 'tensorboard', which is not installed" in said
    assert "spec.yaml:8:5" in said
    assert "pip install 'ebmkit-core[tensorboard]'" in said
    assert not Path("runs").exists()


def test_a_mistake_of_the_spec_takes_precedence(spec, without):
    without("tensorboard")
    said = ebmkit("validate", spec("trackers: [tensorboard]\nchainz: 4\n"), status=2).stderr
    assert "chainz" in said
    assert "E305" not in said


def test_a_plugin_declares_its_packages_the_same_way(spec, install):
    install("needy", NEEDY)
    with pytest.raises(Mistakes, match=r"metric 'needy.needy' needs the package 'no_such_package.inside'") as caught:
        run(spec("evaluate: [needy.needy]\n"))
    assert caught.value.exit_status == 3
    assert caught.value.mistakes[0].help == "pip install 'ebmkit-needy[all]'"
    assert not Path("runs").exists()


def test_packages_in_another_form_are_refused_when_the_plugin_is_loaded(spec, install):
    install("needy", NEEDY.replace('{"no_such_package.inside": "ebmkit-needy[all]"}', '["no_such_package"]'))
    with pytest.raises(Mistakes, match="needs_packages of Needy must map packages to requirements"):
        load_spec(spec("evaluate: [needy.needy]\n"))


def test_a_run_opens_where_the_package_of_its_tracker_is_missing(spec, without):
    pytest.importorskip("tensorboard")
    folder = run(spec("trackers: [jsonl, tensorboard]\n")).folder
    without("tensorboard")
    assert open_run(folder).sample(3).shape == (3, 2)


def test_what_is_built_without_its_package_says_the_same(without):
    pytest.importorskip("zuko")
    from ebmkit.engine.build import build

    plan = load_spec("quickstart", sets=["device=cpu", "objective.noise=flow"])
    without("zuko")
    sys.modules.pop("ebmkit.components.noise.nets.flow", None)
    with pytest.raises(EnvironmentLacks, match="noise 'flow' needs the package 'zuko'") as caught:
        build(plan)
    assert caught.value.place


def test_the_laws_do_not_apply_without_the_package(without):
    without("tensorboard")
    report = examine(TensorBoard)
    assert not report.broken
    assert any("needs the package 'tensorboard'" in reason for reason in report.inapplicable.values())


def test_every_extra_serves_a_component_and_every_component_has_its_extra():
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    del extras["dev"]
    named = {f"ebmkit-core[{extra}]": {re.match(r"\w+", text)[0] for text in texts} for extra, texts in extras.items()}
    served = {}
    for extra, method in METHODS.items():
        assert callable(getattr(Run, method))
        assert named.pop(extra)
    for offer in Plugins().builtin:
        for package, requirement in offer.load().needs_packages.items():
            served.setdefault(requirement, set()).add(package)
    assert served == named


def test_doctor_names_the_components_that_an_extra_is_for(monkeypatch):
    from importlib.metadata import PackageNotFoundError

    from ebmkit.cli import doctor_checks

    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor_checks, "version", version)
    said = ebmkit("doctor", status=3).output
    assert "zuko" in said
    assert "not installed; for noise 'flow': pip install 'ebmkit-core[flows]'" in said
    assert "not installed; for tracker 'tensorboard': pip install 'ebmkit-core[tensorboard]'" in said
