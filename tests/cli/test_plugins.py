"""`ebmkit plugins`, and plugins that fail under other verbs."""

import json

import pytest

from tests.cli.typed import ebmkit


@pytest.mark.parametrize(
    "code",
    [
        None,  # a folder without __init__.py: a namespace package has no file to hash
        "from ebmkit.api import hookimpl\n@hookimpl\ndef ebmkit_components():\n    raise SystemExit(5)\n",
    ],
)
def test_no_plugin_takes_ebmkit_down(install, code):
    install("bad", code)
    ebmkit("list", "bregman")


def test_a_plugin_whose_commands_fail_is_broken_and_not_a_traceback(install):
    install("bad", "from ebmkit.api import hookimpl\n@hookimpl\ndef ebmkit_commands():\n    return 1 / 0\n")
    assert "E122" in ebmkit("bad", "thing", status=3).stderr


COMMANDS = """
import click
from ebmkit.api import hookimpl

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")

@click.command()
def thing():
    raise Unprintable

@hookimpl
def ebmkit_commands():
    return [thing, *OTHERS]
"""


def test_a_command_that_raises_is_reported_with_its_distribution(install):
    install("bad", "OTHERS = []" + COMMANDS)
    said = ebmkit("bad", "thing", status=3).stderr
    assert "a command of plugin 'bad' (ebmkit-bad) raised Unprintable: its message cannot be shown" in said


def test_an_object_that_is_no_command_is_refused(install):
    install("bad", "OTHERS = [7]" + COMMANDS)
    assert "(ebmkit-bad) offers an object of type int as a command" in ebmkit("bad", "thing", status=3).stderr


def test_plugins_says_by_its_status_that_one_is_broken(install):
    install("bad", "1 / 0")
    assert "ebmkit-bad 1.0  installed" in ebmkit("plugins").stdout  # it was not imported
    assert (
        "ebmkit-bad 1.0  broken: importing it raised ZeroDivisionError" in ebmkit("plugins", "--load", status=3).stdout
    )
    assert "ebmkit-bad 1.0  broken" in ebmkit("plugins", status=3).stdout  # known since


# One plugin ----------------------------------------------------------------------------------------------------------

WHOLE = """
import random
from ebmkit.api import Bregman, component, hookimpl

random.seed(0)

@component("square")
class Square(Bregman):
    \"\"\"psi(u) = u^2.\"\"\"

    def psi(self, u):
        return u * u

@hookimpl
def ebmkit_run_started(view):
    pass
"""


@pytest.mark.parametrize("name", ["whole", "ebmkit-whole", "EBMkit_Whole"])
def test_why_says_everything_known_of_one_plugin(install, name):
    module = install("whole", WHOLE)
    said = ebmkit("plugins", "why", name).stdout
    for words in (
        "whole  ebmkit-whole 1.0  loaded",
        f"{module}, in ",
        f"{module}.py",
        "ebmkit-core>=0.1",
        "Plugin API: 1",
        "an import in another process",
        "bregman whole.square",
        "ebmkit_run_started",
        "global random generators, which was undone",
    ):
        assert words in said


def test_why_gives_the_reason_and_with_debug_the_traceback(install):
    module = install("bad", "1 / 0")
    done = ebmkit("plugins", "why", "bad", status=3)
    assert "bad  ebmkit-bad 1.0  broken" in done.stdout
    assert "importing it raised ZeroDivisionError: division by zero" in done.stdout
    assert "Traceback" not in done.stderr
    done = ebmkit("plugins", "why", "bad", "--debug", status=3)
    assert f'{module}.py", line 1' in done.stderr
    facts = json.loads(ebmkit("plugins", "why", "bad", "--json", status=3).stdout)
    assert facts["reason"].startswith("importing it raised ZeroDivisionError")
    assert facts["components"] == []


def test_why_of_what_the_metadata_refuse(install):
    install("newer", "1 / 0", requires="ebmkit-core>=99")
    assert "it needs ebmkit-core>=99" in ebmkit("plugins", "why", "newer", status=3).stdout


def test_why_of_an_unknown_plugin_suggests_a_known_one(install):
    install("alpha", "1 / 0")
    said = ebmkit("plugins", "why", "alpa", status=3).stderr
    assert "error[E121]: no plugin 'alpa' is installed" in said
    assert "did you mean 'alpha'?" in said


def test_commands_of_a_file_are_said_to_need_a_package(tmp_path):
    (tmp_path / "diary.py").write_text("")
    said = ebmkit("diary", "tail", "--plugin", str(tmp_path / "diary.py"), status=2).stderr
    assert "--plugin adds no commands; those of a plugin can be called if its package is installed" in " ".join(
        said.split()
    )
