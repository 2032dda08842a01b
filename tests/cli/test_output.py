"""Text of plugins, specs and run folders is escaped where verbs print it."""

import ast
import json
from pathlib import Path

import pytest

import ebmkit.cli
from tests.cli.typed import ebmkit as typed

#: Files that print by other means, because their text is escaped already or is ebmkit's own.
OWN_MEANS = {
    "output",
    "terminal",
    "tables",
    "common",
    "completion",
    "explain",
    "__init__",
    "doctor",
    "earlier",
    "run",
    "schedule",
}

LOUD = '''
from ebmkit.api import Bregman, component

@component("loud")
class Loud(Bregman):
    """Red \\x1b[31m and \\u202ebackwards.

    Parameters:
        x: bell \\x07.

    Example: generator: \\x1b]0;title\\x07
    """

    x: str = "\\x1b[2J"

    def psi(self, u):
        return u * u
'''


def test_other_verbs_print_through_one_function():
    for file in Path(ebmkit.cli.__file__).parent.glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        used = {call.attr for call in calls if isinstance(call, ast.Attribute)}
        if file.stem not in OWN_MEANS and file.stem != "validate":  # which prints an empty JSON list
            assert not used & {"echo", "secho", "print"}, file.stem


@pytest.mark.parametrize(
    "verb",
    ["list", "list --json", "show bregman loud.loud", "show bregman loud.loud --json", "schema", "plugins --load"],
)
def test_a_docstring_does_not_control_the_terminal(install, verb):
    install("loud", LOUD)
    shown = typed(*verb.split()).stdout
    assert "loud" in shown
    assert not any(letter in shown for letter in "\x1b\x07\u202e")
    if "--json" in verb:
        json.loads(shown)


def test_a_traceback_does_not_control_the_terminal(install):
    install("loud", "raise ValueError('\\x1b[31m')")
    done = typed("show", "bregman", "loud.loud", "--debug", status=3)
    assert "Traceback" in done.stderr
    assert "\x1b" not in done.stderr


def test_what_a_component_prints_is_not_mixed_with_json(install, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install(
        "chatty",
        LOUD.replace('"loud"', '"chatty"').replace("return u", "print('psi')\n        return u")
        + "\n    def __post_init__(self):\n        print('{not json')\n",
    )
    spec = {
        "ebmkit": 1,
        "data": {"use": "two_moons", "size": 64, "test_size": 32},
        "model": {"use": "mlp", "hidden": [4]},
        "objective": {"use": "bregman", "noise": "gaussian", "generator": "chatty.chatty"},
        "train": {"steps": 1, "batch_size": 16},
    }
    Path("spec.yaml").write_text(json.dumps(spec))
    assert json.loads(typed("resolve", "spec.yaml", "--json").stdout)["hash"]
    done = typed("run", "spec.yaml", "--json", "--no-report")
    assert json.loads(done.stdout)["status"] == "finished"
    assert "psi" in done.stderr
