"""All mistakes of a plugin are reported at once, and one in a component does not stop another of the same file."""

from __future__ import annotations

import pytest

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.language.load import load_spec
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

#: These mistakes are found at different stages: by `@component`, by the checks of a class, of parameters, of names.
BROKEN = """
@component("mutable")
class Mutable(Bregman):
    weights: list[int] = []

    def psi(self, u):
        return u * u

@component("unfinished")
class Unfinished(Bregman):
    def phi(self, u):
        return u * u

@component("infinite")
class Infinite(Bregman):
    eps: float = float("inf")

    def psi(self, u):
        return u * u

@component("twice")
class One(Bregman):
    def psi(self, u):
        return u * u

@component("twice")
class Other(Bregman):
    def psi(self, u):
        return u * u

@component("Loud")
class Loud(Bregman):
    def psi(self, u):
        return u * u
"""

REASONS = {
    "mutable": "mutable default",
    "unfinished": "Unfinished does not implement psi; rename 'phi' to 'psi' if that was meant",
    "infinite": "is not finite",
    "twice": "two of its components are both called bregman 'twice'",
    "Loud": "component name 'Loud'",
}


def spec(name: str) -> dict[str, object]:
    objective = {"use": "bregman", "generator": name}
    return {"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": objective, "train": {"steps": 1}}


def test_the_other_component_works(install):
    install("mixed", GENERATOR + BROKEN)
    assert load_spec(spec("mixed.square")).plugins[0].mistakes
    assert Registry(Plugins()).find("bregman", "mixed.square").component_name == "square"


@pytest.mark.parametrize("name", REASONS)
def test_a_broken_component_is_reported_where_it_is_used_with_all_other_mistakes(install, name):
    install("mixed", GENERATOR + BROKEN)
    with pytest.raises(Mistakes) as caught:
        load_spec(spec(f"mixed.{name}"))
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.exit_status) == ("E122", 3)
    assert mistake.message.startswith(f"bregman '{name}' of plugin 'mixed' (ebmkit-mixed) cannot be used: ")
    assert REASONS[name] in mistake.message
    assert mistake.help.startswith("other mistakes in this plugin: ")
    assert mistake.place.source.lines[mistake.place.line - 1].strip().startswith("generator: ")


def test_one_line_of_each_verb_has_all_mistakes(install, tmp_path):
    install("mixed", GENERATOR + BROKEN)
    done = ebmkit("list", "bregman")
    assert "mixed.square" in done.stdout
    assert "mixed.mutable" not in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning[E122]: plugin 'mixed' (ebmkit-mixed) can be used in part only: ")
    (row,) = [row for row in ebmkit("plugins", "--load", status=3).stdout.splitlines() if row.startswith("mixed")]
    said = ebmkit("plugins", "why", "mixed", status=3).stdout
    for reason in REASONS.values():
        assert reason in line
        assert reason in row
        assert reason in said
    assert "bregman mixed.square" in said


def test_a_file_with_a_mistake_can_be_used_and_its_author_is_warned(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GENERATOR + BROKEN)
    path = tmp_path / "spec.yaml"
    path.write_text("ebmkit: 1\ndata: two_moons\nmodel: mlp\nobjective: {use: bregman, generator: mine.square}\n")
    done = ebmkit("validate", str(path), "--set", "train.steps=1", "--plugin", str(file))
    assert "ok" in done.stdout
    (line,) = done.stderr.splitlines()
    assert all(reason in line for reason in REASONS.values())


HOOKS = """
@hookimpl
def ebmkit_step_end(view): pass

def ebmkit_run_started(view): pass

@hookimpl
def ebmkit_run_finished(view, result): pass
"""

OF_HOOKS = (
    "there is no hook 'ebmkit_step_end'; did you mean 'ebmkit_step_ended'?",
    "'ebmkit_run_started' lacks the marker",
    "the hook 'ebmkit_run_finished' has the argument 'result', which is not passed; did you mean 'results'?",
)


def test_a_mistake_in_a_hook_makes_the_plugin_unusable_and_all_are_reported(install):
    install("mixed", GENERATOR + BROKEN + HOOKS)
    with pytest.raises(EbmkitError, match="ebmkit_step_end"):
        Plugins().load("mixed")
    said = ebmkit("plugins", "why", "mixed", status=3).stdout
    assert all(reason in said for reason in (*OF_HOOKS, *REASONS.values()))


def test_each_mistake_of_a_file_that_cannot_be_used_has_its_own_line(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GENERATOR + BROKEN + HOOKS)
    said = ebmkit("list", "--plugin", str(file), status=3).stderr
    lines = [line for line in said.splitlines() if line.startswith("error[E122]: ")]
    for reason in (*OF_HOOKS, *REASONS.values()):
        assert sum(reason in line for line in lines) == 1
    assert len(lines) == len(OF_HOOKS) + len(REASONS)


def test_outside_of_a_plugin_the_decorator_raises():
    from ebmkit.api import Bregman, component

    with pytest.raises(TypeError, match="component name 'Loud'"):

        @component("Loud")
        class Loud(Bregman):
            def psi(self, u):
                return u


def test_an_offer_that_fails_later_does_not_stop_the_others(install):
    later = """
from ebmkit.registry.offer import Offer

def fail():
    raise OSError("no network")

@hookimpl
def ebmkit_components():
    return [Square, Offer("bregman", "late", fail)]
"""
    install("mixed", GENERATOR + later)
    plugins = Plugins()
    loaded = plugins.load_whole("mixed")
    assert [cls.component_name for cls in loaded.components] == ["square"]
    assert loaded.mistakes == ("loading bregman 'late' raised OSError: no network",)
    with pytest.raises(EbmkitError, match="no network"):
        Registry(plugins).find("bregman", "mixed.late")
