"""What Python passes as `plugins=`."""

import hashlib
import inspect
import sys
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch

from ebmkit.api import Bregman, Sampler, StepInfo, component, hookimpl
from ebmkit.errors.base import Mistakes
from ebmkit.errors.schema import PluginBroken
from ebmkit.language.load import load_spec
from ebmkit.registry.at_hand import UNKNOWN
from ebmkit.registry.loading import Plugins


class Position(NamedTuple):
    x: Any


@component("still")
class Still(Sampler):
    """Chains that stay where they are."""

    def init(self, energy, x, rng):
        return Position(x)

    def step(self, energy, state, rng):
        return state, StepInfo()


@component("half")
class Half(Bregman):
    """Half the square."""

    def psi(self, u):
        return u * u / 2


FILE = '''from ebmkit.api import Bregman, component


@component("half")
class Half(Bregman):
    """Half the square."""

    def psi(self, u):
        return u * u / 2
'''


def offers(plugins, namespace):
    return sorted(offer.name for offer in Plugins(plugins).load(namespace).offers)


@pytest.mark.parametrize("given", [Still, [Still], (Still,), {"notebook": Still}])
def test_one_class_or_several(given):
    assert offers(given, "notebook") == ["still"]


def test_a_dictionary_names_namespaces():
    plugins = {"mine": [Still], "yours": [Half, lambda x: x.sum(-1)]}
    assert offers(plugins, "mine") == ["still"]
    assert offers(plugins, "yours") == ["energy", "half"]


def test_a_name_without_its_namespace_is_corrected():
    spec = {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0]}, "sampler": "still"}
    with pytest.raises(Mistakes, match=r"^sampler E102 unknown sampler 'still' \(did you mean 'notebook.still'\?\)"):
        load_spec(spec, plugins=Still)


def test_a_module_is_the_plugin_that_its_file_would_be(tmp_path, monkeypatch):
    (tmp_path / "mine_of_python.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    import mine_of_python

    of_module = Plugins(mine_of_python).load("mine_of_python")
    of_file = Plugins(tmp_path / "mine_of_python.py").load("mine_of_python")
    assert of_module.sha256 == of_file.sha256
    assert of_module.components[0] is mine_of_python.Half
    assert sys.modules["mine_of_python"] is mine_of_python


def test_a_module_of_an_installed_plugin_is_that_plugin(install):
    module = __import__(install("alpha", FILE))
    assert list(Plugins(module).loaded) == ["alpha"]


def test_an_object_of_an_installed_plugin_has_its_namespace(install):
    module = __import__(install("alpha", FILE))
    training = {"data": "two_moons", "model": "mlp", "train": {"steps": 2}, "sampler": "hmc"}
    plan = load_spec({"ebmkit": 1, **training, "objective": {"use": "bregman", "generator": module.Half()}})
    assert plan.resolved["objective"]["generator"]["use"] == "alpha.half"


def test_hooks_are_called():
    seen = []

    @hookimpl
    def ebmkit_step_ended(step):
        seen.append(step)

    Plugins([ebmkit_step_ended]).manager.hook.ebmkit_step_ended(view=None, step=3)
    assert seen == [3]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "an object of type int, but expected are files, modules"),
        (Half(), "an object of type Half"),
        (dict, "dict is not a component class"),
        (ModuleType("Bad Name"), "name the module with at most 64 lower-case letters"),
        ({"Mine!": [Half]}, "a namespace is made of at most 64 lower-case letters"),
        ([Half, component("half")(type("Half2", (Bregman,), {"psi": Half.psi}))], "both called bregman 'half'"),
    ],
)
def test_what_is_no_plugin_is_refused_by_a_sentence(given, words):
    with pytest.raises(PluginBroken, match=words) as caught:
        Plugins(given)
    assert str(caught.value.place) == "plugins"


def test_a_file_keeps_its_namespace(tmp_path):
    (tmp_path / "mine.py").write_text("")
    with pytest.raises(PluginBroken, match="is its own: mine"):
        Plugins({"yours": tmp_path / "mine.py"})


def test_the_hash_is_that_of_the_sources_in_any_order():
    wanted = hashlib.sha256("\0".join(sorted(map(inspect.getsource, (Still, Half)))).encode()).hexdigest()
    assert Plugins([Still, Half]).load("notebook").sha256 == Plugins([Half, Still]).load("notebook").sha256 == wanted


def test_a_source_that_cannot_be_found_is_unknown():
    without_file = component("square")(type("Square", (Bregman,), {"psi": torch.square}))
    assert Plugins([without_file]).load("notebook").sha256 == UNKNOWN
    assert Plugins([lambda x: x.sum(-1)]).load("notebook").sha256 == UNKNOWN


def test_the_layers_of_a_network_are_part_of_its_hash():
    def sha256(*layers):
        return Plugins([torch.nn.Sequential(*layers)]).load("notebook").sha256

    assert sha256(torch.nn.Linear(2, 1)) == sha256(torch.nn.Linear(2, 1))
    assert sha256(torch.nn.Linear(2, 1), torch.nn.SiLU()) != sha256(torch.nn.Linear(2, 1), torch.nn.Tanh())
