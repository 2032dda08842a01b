"""Components that are imported when a spec names them: the built-in ones, and those of plugins that ask for it."""

import sys

import pytest

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.registry import builtin
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from tests.planted import GENERATOR


@pytest.mark.parametrize("offer", Plugins().builtin, ids=lambda offer: f"{offer.kind}-{offer.name}")
def test_every_builtin_component_keeps_the_rules_of_plugins(offer):
    cls = offer.load()
    assert (cls.component_kind, cls.component_name) == (offer.kind, offer.name)


def test_a_builtin_component_that_breaks_a_rule_is_refused_as_a_plugins_is(monkeypatch):
    from ebmkit.components.bregman.logistic import Logistic

    registry = Registry(Plugins())
    monkeypatch.setattr(Logistic, "factor", 2.0, raising=False)
    with pytest.raises(EbmkitError, match=r"ebmkit cannot be used: Logistic.factor has no annotation") as caught:
        registry.find("bregman", "logistic")
    assert caught.value.code == "E122"
    assert registry.find("bregman", "kl")


def test_builtin_names_are_checked_when_they_are_registered(monkeypatch):
    from ebmkit.registry.validation import Unusable

    monkeypatch.setattr(builtin, "COMPONENTS", {"bregmann": ("bregman", "kl")})
    with pytest.raises(Unusable, match="did you mean 'bregman'"):
        Plugins()


LATER = """
from importlib import import_module
from ebmkit.api import Offer, hookimpl

@hookimpl
def ebmkit_components():
    return [Offer("bregman", "square", lambda: import_module("{module}").Square)]
"""


@pytest.fixture
def later(install, tmp_path):
    """A plugin whose one component is in a module of its own."""

    def later(code):
        module = f"planted_later_{abs(hash(code)) % 10**8}"
        (tmp_path / f"{module}.py").write_text(code)
        install("later", LATER.format(module=module))
        return module

    return later


def test_a_plugin_may_offer_what_is_imported_later(later):
    module = later(GENERATOR)
    registry = Registry(Plugins())
    registry.load("later")
    assert registry.names("bregman")[-1] == "later.square"
    assert module not in sys.modules
    cls = registry.find("bregman", "later.square")
    assert module in sys.modules
    assert registry.name_of(cls) == "later.square"


BROKEN = [
    ("1 / 0", "loading bregman 'square' raised ZeroDivisionError"),
    (GENERATOR.replace("def psi", "def phi"), "does not implement psi"),
    (GENERATOR.replace('"square"', '"cube"'), "bregman 'square' is offered, but its class is bregman 'cube'"),
]


@pytest.mark.parametrize(("code", "reason"), BROKEN)
def test_what_is_wrong_with_it_is_shown_at_the_line_that_names_it(later, code, reason):
    from ebmkit.language.load import load_spec

    later(code)
    objective = {"use": "bregman", "generator": "later.square"}
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": objective, "train": {"steps": 1}})
    (mistake,) = caught.value.mistakes
    assert mistake.code == "E122"
    assert reason in mistake.message
    assert mistake.place.source.lines[mistake.place.line - 1].strip() == "generator: later.square"


@pytest.mark.parametrize(("code", "reason"), BROKEN)
def test_verbs_that_show_everything_leave_such_a_plugin_out(later, code, reason):
    later(code)
    plugins = Plugins()
    with pytest.raises(EbmkitError) as caught:
        plugins.load_whole("later")
    assert reason in caught.value.message
    registry = Registry(plugins)
    assert all(entry.summary for entry in registry.entries("bregman"))
    with pytest.raises(EbmkitError, match="cannot be used"):
        registry.find("bregman", "later.square")


STARTED = """
@hookimpl
def ebmkit_run_started(view, folder):
    raise RuntimeError("a hook of a plugin that cannot be used")
"""


def test_a_plugin_that_is_found_broken_later_leaves_neither_hooks_nor_modules(install):
    module = install("later", LATER.format(module="no_such_module") + STARTED)
    plugins = Plugins()
    hooks = plugins.manager.hook.ebmkit_run_started
    plugins.load("later")
    assert module in sys.modules
    assert len(hooks.get_hookimpls()) == 1
    with pytest.raises(EbmkitError, match="ModuleNotFoundError"):
        plugins.load_whole("later")
    assert module not in sys.modules
    assert hooks.get_hookimpls() == []
