"""A new kind is one file and one line; every list of kinds follows."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ebmkit.testing.laws.every_kind import LAWS

ROOT = Path(__file__).parents[2]

FILE = '''
from abc import ABC, abstractmethod
from typing import ClassVar

from ebmkit.contracts.component import Component


class Gadget(Component, ABC):
    """A kind that a test adds."""

    component_kind: ClassVar[str] = "gadget"

    @abstractmethod
    def turn(self) -> int:
        """A number."""
'''

LINE = "from ebmkit.contracts.kinds.gadget import Gadget as Gadget\n"

PLUGIN = '''
from ebmkit.api import Gadget, Tracker, component


@component("wheel")
class Wheel(Gadget):
    """A wheel.

    Example: gadget: {use: wheel, size: 3}
    """

    size: int = 2

    def turn(self) -> int:
        return self.size


@component("box")
class Box(Tracker):
    """A component that takes a gadget."""

    gadget: Gadget = Wheel()

    def open(self, run):
        raise NotImplementedError
'''


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Runs Python with a copy of the package that has one kind more."""
    folder = tmp_path_factory.mktemp("kind")
    shutil.copytree(ROOT / "ebmkit", folder / "ebmkit", ignore=shutil.ignore_patterns("__pycache__"))
    kinds = folder / "ebmkit/contracts/kinds"
    (kinds / "gadget.py").write_text(FILE)
    text = (kinds / "__init__.py").read_text()
    (kinds / "__init__.py").write_text(text.replace("# isort: on\n", LINE + "# isort: on\n"))
    (folder / "mine.py").write_text(PLUGIN)

    def python(*words, status=0):
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    return python


def ebmkit(python, *words, status=0):
    return python("-m", "ebmkit", *words, "--plugin", "mine.py", status=status)


def test_it_is_listed_and_shown(python):
    assert "gadget mine.wheel A wheel." in " ".join(ebmkit(python, "list").split())
    assert "mine.wheel" in ebmkit(python, "list", "gadget")
    assert "optimizer, tracker, gadget." in " ".join(python("-m", "ebmkit", "list", "--help").split())
    assert "size: an integer; default 2" in ebmkit(python, "show", "gadget", "mine.wheel")
    assert "gadget: a gadget; default" in ebmkit(python, "show", "tracker", "mine.box")


def test_editors_know_it(python):
    schema = json.loads(ebmkit(python, "schema"))
    assert schema["$defs"]["gadget"]["anyOf"][0]["const"] == "mine.wheel"
    assert {"$ref": "#/$defs/gadget"} in schema["properties"]["parts"]["additionalProperties"]["anyOf"]


@pytest.mark.parametrize(
    ("tracker", "said"),
    [
        ("{use: mine.box, gadget: {use: mine.wheel, size: 5}}", "ok"),
        ("{use: mine.box, gadget: mine.weel}", "did you mean 'mine.wheel'?"),
        ("{use: mine.box, gadget: 3}", "expected a gadget, not 3"),
    ],
)
def test_specs_take_it(python, tmp_path, tracker, said):
    (tmp_path / "spec.yaml").write_text(
        f"ebmkit: 1\nmodel: {{use: gaussian, mean: [0, 0]}}\nsampler: exact\ntrackers: [{tracker}]\n"
    )
    assert said in ebmkit(python, "validate", str(tmp_path / "spec.yaml"), status=0 if said == "ok" else 2)


def test_the_laws_of_every_component_examine_it(python):
    program = "from ebmkit.testing import laws_of; print(*[law.__name__ for law in laws_of('gadget')])"
    assert python("-c", program).split() == [law.__name__ for law in LAWS]
