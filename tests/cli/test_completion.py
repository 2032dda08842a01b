"""What a shell offers when Tab is pressed: verbs, specs, components and plugins, those that are installed included."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from ebmkit.cli import group
from ebmkit.cli.complete import BashJoined
from ebmkit.language.offered_values import offered_values
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

COMMANDS = """
import click
from ebmkit.api import hookimpl

@hookimpl
def ebmkit_commands():
    return [click.Command("count"), click.Command("clear")]
"""


def offered(*words: str) -> list[str]:
    """What is offered for the last of these words."""
    *arguments, typed = words
    return [item.value for item in ShellComplete(group, {}, "ebmkit", "_X").get_completions(arguments, typed)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def plugins(install) -> None:
    install("alpha", GENERATOR)
    install("beta", COMMANDS)
    install("broken", "import no_such_module")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell):
    assert "_EBMKIT_COMPLETE" in ebmkit("completion", shell).output


def test_verbs_kinds_names_and_specs():
    assert offered("val") == ["validate"]
    assert "sampler" in offered("show", "s")
    assert offered("show", "sampler", "lang") == ["langevin"]
    assert "quickstart" in offered("run", "qui")
    assert offered("evaluate", "a-run", "--metric", "mm") == ["mmd"]


def test_the_components_of_installed_plugins(plugins):
    assert offered("show", "bregman", "al") == ["alpha.square"]
    for path in ("objective.generator", "objective.generator.use", "parts.mine"):
        assert offered("run", "quickstart", "--set", f"{path}=al") == [f"{path}=alpha.square"]


def test_plugins_and_their_commands(plugins):
    assert {"alpha", "beta", "broken"} <= set(offered("plugins", "why", ""))
    assert {"alpha", "beta", "broken"} <= set(offered("plugins", "check", ""))
    assert offered("plugins", "manifest", "be") == ["beta"]
    assert "beta" not in offered("be")  # not known before it was listed, and Tab is no moment to import it
    ebmkit("list")
    assert offered("be") == ["beta"]
    assert offered("alp") == []  # it has no commands
    assert offered("beta", "c") == ["clear", "count"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("objective=exact", ["objective=exact_mle"]),
        ("objective.noise=parz", ["objective.noise=parzen"]),
        ("objective.sampler.schedule=geo", ["objective.sampler.schedule=geometric"]),
        ("train.optimizer=adamw", ["train.optimizer=adamw"]),
        ("train.0.optimizer.use=adamw", ["train.0.optimizer.use=adamw"]),
        ("evaluate+=mm", ["evaluate+=mmd"]),
        ("evaluate.0=mm", ["evaluate.0=mmd"]),
        ("trackers+=js", ["trackers+=jsonl"]),
        ("dtype=", ["dtype=float32", "dtype=float64", "dtype=bfloat16"]),
        ("compile=", ["compile=true", "compile=false"]),
        ("seed=", []),
        ("no.such.path=", []),
        ("obj", []),
        ("=", []),
    ],
)
def test_values_for_a_path(typed, expected):
    found = offered("run", "quickstart", "--set", typed)
    assert found == expected


def test_an_option_and_its_value_may_be_one_word():
    assert offered("run", "quickstart", "--set=train.optimizer=adamw") == ["train.optimizer=adamw"]


def test_values_come_with_what_they_mean():
    described = json.loads(ebmkit("schema").stdout)
    assert "contrast" in offered_values(described, "objective")["nce"].lower()


@pytest.mark.parametrize(
    ("words", "arguments", "typed", "replaced"),
    [
        (["run", "q", "--set", "objective", "="], ["run", "q", "--set"], "objective=", "nce"),
        (["run", "q", "--set", "objective", "=", "n"], ["run", "q", "--set"], "objective=n", "nce"),
        (["run", "q", "--set", "a", "=", "1", "--set", "objective", "=", "n"], None, "objective=n", "nce"),
        (["run", "q", "--set", "a", "=", ""], ["run", "q", "--set", "a="], "", "objective=nce"),
        (["run", "q", "--set", "a", "=", "--set", ""], ["run", "q", "--set", "a=", "--set"], "", "objective=nce"),
    ],
)
def test_bash_splits_words_at_equals_signs(monkeypatch, words, arguments, typed, replaced):
    from click.shell_completion import CompletionItem

    monkeypatch.setenv("COMP_WORDS", " ".join(["ebmkit", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    bash = BashJoined(group, {}, "ebmkit", "_X")
    before, last = bash.get_completion_args()
    assert last == typed
    assert before == (arguments or ["run", "q", "--set", "a=1", "--set"])
    assert bash.format_completion(CompletionItem("objective=nce")) == f"plain,{replaced}"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_in_bash(tmp_path):
    command = tmp_path / "ebmkit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ebmkit "$@"\n')
    command.chmod(0o755)
    (tmp_path / "script").write_text(ebmkit("completion", "bash").stdout)
    typed = "COMP_WORDS=(ebmkit run quickstart --set dtype = bf); COMP_CWORD=6"
    asked = f"source '{tmp_path}/script'; {typed}; _ebmkit_completion '{command}'; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True)
    assert done.stdout.strip() == "bfloat16", done.stderr
