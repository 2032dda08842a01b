"""What the page on trust says of verbs is so: a plugin writes down in which process its code runs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from ebmkit.cli import group
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

PAGE = (Path(__file__).parents[2] / "docs" / "plugins" / "trust.md").read_text()

PLAIN = """\
ebmkit: 1
data: {use: two_moons, size: 64, test_size: 32}
model: {use: mlp, hidden: [4]}
objective: {use: bregman, noise: gaussian, generator: kl}
train: {steps: 2, batch_size: 16}
"""

SPECS = {"plain.yaml": PLAIN, "alpha.yaml": PLAIN.replace("kl}", "alpha.square}")}

#: It writes down who imported it.
RECORDED = (
    """
import os
from pathlib import Path
with Path(os.environ["RECORD"]).open("a") as record:
    record.write(f"{Path(__file__).stem.split('_')[1]} {os.getpid()}\\n")
"""
    + GENERATOR
    + """
import click

@hookimpl
def ebmkit_commands():
    return [click.Command("count")]
"""
)

SPEC_VERBS = ("validate {}", "resolve {}", "run {} --no-report --quiet", "run {} --dry-run --quiet")

#: For each row of the table, the commands that it is about.
COMMANDS = {
    "`plugins`,": ["plugins", "--help", "explain", "runs .", "new spec new.yaml"],
    "of a spec that names no plugin": [verb.format("plain.yaml") for verb in SPEC_VERBS],
    "of a spec that names plugins": [verb.format("alpha.yaml") for verb in SPEC_VERBS],
    "`list`, `schema`, completion": ["list", "schema", "TAB show bregman "],
    "`show KIND NAME`": ["show bregman alpha.square"],
    "`plugins --load`, `doctor`": ["plugins --load", "doctor"],
    "`plugins why NAME`": ["plugins why alpha"],
    "any verb with `--plugin FILE`": ["validate plain.yaml --plugin mine_gamma.py", "plugins manifest alpha --write"],
    "`ebmkit NAMESPACE COMMAND`": ["alpha count"],
}

#: The words of the table, as the plugins and processes that were recorded.
MEANINGS = {
    "none": set(),
    "these, here": {("alpha", "here")},
    "all, apart, once": {("alpha", "apart"), ("beta", "apart")},
    "the plugin in this name, apart, once": {("alpha", "apart")},
    "all, apart, each time": {("alpha", "apart"), ("beta", "apart")},
    "this one, apart, each time": {("alpha", "apart")},
    "the one named, here": {("alpha", "here")},
    "this one, here": {("alpha", "here")},
}

ROWS = re.findall(r"^\| (?!verb|---)(.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
CASES = [
    (command, words)
    for row, words in ROWS
    for title, commands in COMMANDS.items()
    if title in row
    for command in commands
]


@pytest.fixture
def ran(install, tmp_path, monkeypatch):
    """Carries out a command; gives the plugins whose code ran, and where."""
    record = tmp_path / "record"
    monkeypatch.setenv("RECORD", str(record))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, text in SPECS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "mine_gamma.py").write_text(RECORDED.replace(".split('_')[1]", ".replace('mine_gamma', 'alpha')"))
    modules = [install("alpha", RECORDED), install("beta", RECORDED + "\n# another")]

    def ran(command):
        record.write_text("")
        if command.startswith("TAB "):
            *words, typed = command.removeprefix("TAB ").split(" ")
            ShellComplete(group, {}, "ebmkit", "_X").get_completions(words, typed)
        else:
            ebmkit(*command.split())
        for module in modules:
            sys.modules.pop(module, None)
        lines = [line.split() for line in record.read_text().splitlines()]
        return {(name, "here" if int(process) == os.getpid() else "apart") for name, process in lines}

    return ran


def test_every_row_is_tried():
    assert len(ROWS) == len(COMMANDS)
    assert all(any(title in row for title in COMMANDS) for row, _ in ROWS)


@pytest.mark.parametrize(("command", "words"), CASES, ids=[command for command, _ in CASES])
def test_a_verb_runs_the_code_that_the_table_says(ran, command, words):
    (expected,) = [
        meaning for known, meaning in MEANINGS.items() if words == known or words.startswith(f"{known} until")
    ]
    assert ran(command) == expected
    again = ran(command) if command.split()[0] not in ("run", "new") else expected
    assert again == (set() if "once" in words else expected)


def test_with_a_manifest_no_code_runs_apart(ran):
    for name in ("alpha", "beta"):
        ran(f"plugins manifest {name} --write")
    for command in ("list", "schema", "show bregman alpha.square", "plugins --load", "plugins why alpha", "doctor"):
        assert ran(command) == set(), command


def test_what_is_turned_off_is_not_imported(ran, monkeypatch):
    monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", "alpha")
    assert ran("plugins --load") == {("beta", "apart")}
    monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", "1")
    assert ran("list") == set()
