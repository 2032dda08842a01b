"""The page about the laws is in step with them, and its examples say what it shows."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ebmkit.contracts.question import Question
from ebmkit.registry.loading import Plugins
from ebmkit.testing import trials
from tests.cli.typed import ebmkit

PLUGINS = Path(__file__).parents[2] / "docs" / "plugins"
PAGE = (PLUGINS / "checking.md").read_text()
write_checking = runpy.run_path(str(PLUGINS / "write_checking.py"))


def blocks(language):
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands():
    """The words after `ebmkit` of each command."""
    return [shlex.split(block)[1:] for block in blocks("sh")]


def rows(table):
    """Outcome and words by law."""
    found = re.findall(r"^ +(\w+) +(held|broken)(?: +(.*))?$", table, re.MULTILINE)
    return {law: (outcome, words) for law, outcome, words in found}


@pytest.fixture
def folder(tmp_path, monkeypatch, one_thread):
    """The folder of the example."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drift.py").write_text(blocks("python")[0])
    return tmp_path


def test_the_list_of_laws_is_in_step():
    assert PAGE.endswith(write_checking["section"]()), "run docs/plugins/write_checking.py"


def test_the_table_is_what_is_printed(folder):
    shown = rows(PAGE.partition("    sampler drift.drift\n")[2].partition("\n\n")[0])
    assert len(shown) == 4
    printed = rows(ebmkit(*commands()[0], *(word for law in shown for word in ("--law", law)), status=3).stdout)
    for law, (outcome, words) in shown.items():
        assert printed[law][0] == outcome
        assert printed[law][1].startswith(words.removesuffix(" The law: ..."))


def test_the_model_for_vectors_refuses_images_and_takes_vectors(folder):
    (folder / "vectors.py").write_text(blocks("python")[1])
    (cls,) = Plugins(["vectors.py"]).loaded["vectors"].components
    (shapes,) = (trial for trial in trials([cls]) if trial.law.__name__ == "takes_every_shape_that_it_does_not_refuse")
    shapes.run()
    assert cls().refusal(Question((1, 4, 4), cls())) == "takes vectors only"


@pytest.mark.long
def test_a_law_may_be_expected_to_fail(folder):
    ebmkit(*commands()[1])
    (folder / "expecting.py").write_text(blocks("python")[2])
    done = subprocess.run([sys.executable, "expecting.py"], capture_output=True, text=True, check=False)
    assert "1 broken as expected" in done.stdout, done.stderr


def test_the_correction_of_the_page_is_one(folder):
    code = (folder / "drift.py").read_text()
    (folder / "drift.py").write_text(
        code.replace("torch.tensor(2 * self.step_size).sqrt()", "(2 * self.step_size) ** 0.5")
    )
    (cls,) = Plugins(["drift.py"]).loaded["drift"].components
    (device,) = (trial for trial in trials([cls]) if trial.law.__name__ == "runs_on_the_device")
    device.run()


def test_the_tests_of_the_package_pass(folder):
    *_, conftest, tests = blocks("python")
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_drift.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_drift.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
