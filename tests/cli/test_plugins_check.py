"""`ebmkit plugins check`: the laws for each component of a plugin."""

import json
import re

import pytest

from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

pytestmark = pytest.mark.usefixtures("one_thread")

CONCAVE = GENERATOR.replace("u * u", "-u * u").replace("square", "concave").replace("Square", "Concave")
PROJECT = """
[project]
name = "ebmkit-alpha"
version = "0.2"
dependencies = ["ebmkit-core>=0.1"]
[project.entry-points.ebmkit]
alpha = "ebmkit_alpha.components"
"""


UNFINISHED = """
from ebmkit.api import Sampler, component


@component("s")
class S(Sampler):
    steps = 5

    def init(self, energy, x):
        return x
"""


@pytest.fixture
def folder(tmp_path):
    """A package that is not installed, whose modules import each other."""
    package = tmp_path / "ebmkit-alpha/src/ebmkit_alpha"
    package.mkdir(parents=True)
    (tmp_path / "ebmkit-alpha/pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").touch()
    (package / "numbers.py").write_text("TWO = 2\n")
    (package / "components.py").write_text(
        "from ebmkit_alpha.numbers import TWO\n" + GENERATOR.replace("u * u", "u**TWO")
    )
    return tmp_path / "ebmkit-alpha"


def found(said, law, outcome, words=""):
    """Whether the table has this row."""
    return re.search(rf"^  {law} +{outcome}(?:  +{re.escape(words)}.*)?$", said, re.MULTILINE)


def test_a_right_component_holds_every_law(folder):
    said = ebmkit("plugins", "check", str(folder)).stdout
    assert "bregman alpha.square" in said
    assert found(said, "is_strictly_convex", "held", "")
    assert "broken" not in said


def test_a_wrong_one_is_named_with_law_and_sentence(tmp_path):
    (tmp_path / "mine.py").write_text(GENERATOR + CONCAVE)
    said = ebmkit("plugins", "check", str(tmp_path / "mine.py"), status=3).stdout
    assert "bregman mine.concave" in said
    line = next(line for line in said.splitlines() if "is_strictly_convex" in line and "broken" in line)
    assert "The law: psi'' > 0" in line
    assert "'concave'" not in line  # it stands above


def test_installed_plugins_are_checked_by_their_namespace(install):
    install("alpha", GENERATOR)
    rows = json.loads(ebmkit("plugins", "check", "alpha", "--json").stdout)
    assert {row["component"] for row in rows} == {"plugin alpha", "bregman alpha.square"}
    assert {row["outcome"] for row in rows} == {"held"}


def test_single_laws_can_be_tried(tmp_path):
    (tmp_path / "mine.py").write_text(CONCAVE)
    path, laws = str(tmp_path / "mine.py"), ("--law", "works_elementwise", "--law", "is_a_value")
    rows = json.loads(ebmkit("plugins", "check", path, *laws, "--json").stdout)
    assert [row["law"] for row in rows] == ["import_only_defines", "is_a_value", "works_elementwise"]
    ebmkit("plugins", "check", path, *laws, "--law", "is_strictly_convex", status=3)
    said = ebmkit("plugins", "check", path, "--law", "is_strictly_konvex", status=2).stderr
    assert "did you mean 'is_strictly_convex'?" in said


def test_what_an_import_changes_in_the_process_is_a_mistake(tmp_path):
    (tmp_path / "mine.py").write_text("import random\nrandom.seed(3)\n" + GENERATOR)
    said = ebmkit("plugins", "check", str(tmp_path / "mine.py"), status=3).stdout
    assert found(said, "import_only_defines", "broken", "")


def test_a_component_that_cannot_be_made_is_a_mistake(tmp_path):
    without = GENERATOR.replace("    def psi", "    power: float\n\n    def psi")
    (tmp_path / "mine.py").write_text(without)
    said = ebmkit("plugins", "check", str(tmp_path / "mine.py"), status=3).stdout
    assert found(said, "can_be_made", "broken", "")
    assert "its docstring needs a line 'Example: ...'" in said


UNEXAMINED = """
from ebmkit.api import Sampler, component

@component("lonely")
class Lonely(Sampler):
    \"\"\"Needs what no model offers.\"\"\"

    steps: int = 1

    def traits(self):
        return super().traits()._replace(spaces=frozenset({"binary"}), conditioning="time")

    def init(self, energy, x, rng): ...

    def step(self, energy, state, rng): ...
"""


def test_a_component_of_which_no_law_of_its_kind_applied_fails(tmp_path):
    (tmp_path / "mine.py").write_text(UNEXAMINED)
    said = ebmkit("plugins", "check", str(tmp_path / "mine.py"), status=3).stdout
    assert found(said, "is_examined", "broken", "sampler 'lonely': no law of its kind")


def test_a_law_that_is_expected_to_fail_fails_when_it_holds(tmp_path):
    (tmp_path / "mine.py").write_text(CONCAVE)
    path, law = str(tmp_path / "mine.py"), "bregman/concave/is_strictly_convex"
    broken = ("is_strictly_convex", "is_a_divergence", "stays_finite_far_out")  # all that need convexity
    flags = [part for name in broken for part in ("--expect-failure", f"bregman/concave/{name}=by design")]
    said = ebmkit("plugins", "check", path, *flags).stdout
    assert found(said, "is_strictly_convex", "broken as expected", "as expected (by design)")
    assert " held, 3 broken as expected\n" in said
    rows = [line for line in said.splitlines() if re.match(r"  \w+ +(held|broken)", line)]
    assert len({re.search(r" (held|broken)", row).start() for row in rows[1:]}) == 1  # one column; first the plugin
    assert "2 broken" in ebmkit("plugins", "check", path, *flags[:2], status=3).stdout  # the others are not expected
    (tmp_path / "mine.py").write_text(GENERATOR)
    law = law.replace("concave", "square")
    said = ebmkit("plugins", "check", path, "--expect-failure", f"{law}=by design", status=3).stdout
    assert "obeys 'is_strictly_convex', which is expected to fail (by design)" in said
    said = ebmkit("plugins", "check", path, "--expect-failure", f"{law}x=by design", status=2).stderr
    assert f"'{law}x' is no law of this plugin; did you mean '{law}'?" in said
    said = ebmkit("plugins", "check", path, "--expect-failure", "convex=by design", status=2).stderr
    assert "pass --expect-failure KIND/NAME/LAW=reason" in " ".join(said.split())
    assert "needs a reason" in ebmkit("plugins", "check", path, "--expect-failure", law, status=2).stderr


def test_what_cannot_be_loaded_is_told_as_by_every_verb(tmp_path):
    (tmp_path / "mine.py").write_text("1 / 0\n")
    assert (
        "importing it raised ZeroDivisionError"
        in ebmkit("plugins", "check", str(tmp_path / "mine.py"), status=3).stderr
    )
    assert "no plugin 'alhpa' is installed" in ebmkit("plugins", "check", "alhpa", status=3).stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nosuch", "no plugin 'nosuch' is installed, and there is no folder of this name"),
        ("absent.yaml", "there is no file or folder 'absent.yaml', and no plugin of this name is installed"),
        ("some/absent.py", "there is no file or folder 'some/absent.py'"),
        ("spec.yaml", "'spec.yaml' is neither a Python file nor the folder of a package"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "manifest"])
def test_what_is_no_plugin_is_said_without_another_verbs_options(verb, name, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text("ebmkit: 1\n")
    said = " ".join(ebmkit("plugins", verb, name, status=3).stderr.split())
    assert says in said
    assert "--plugin" not in said
    assert "did you mean" not in said


def test_a_file_that_cannot_be_used_has_no_place_in_an_option(tmp_path):
    (tmp_path / "mine.py").write_text(UNFINISHED)
    said = ebmkit("plugins", "check", str(tmp_path / "mine.py"), status=3).stderr
    assert "S does not implement step; S.init(energy, x) is called as init(energy, x, rng)" in " ".join(said.split())
    assert "--plugin[1]" not in said
    assert "rename" not in said  # 'steps' is a parameter


def test_a_manifest_that_is_missing_is_not_written_again(tmp_path):
    (tmp_path / "mine.py").write_text(GENERATOR)
    said = ebmkit("plugins", "manifest", str(tmp_path / "mine.py"), status=3).stderr
    assert "it has no manifest" in said
    assert "to write it: ebmkit plugins manifest" in said
