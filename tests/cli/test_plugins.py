"""`ebmkit plugins`, and plugins that fail under other verbs."""

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
