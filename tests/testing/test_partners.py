"""Whom a component is examined with: models of ebmkit, of its own plugin, and those that are passed."""

import importlib
import sys

import pytest

from ebmkit.api import Sampler, StepInfo, component
from ebmkit.components.samplers.langevin import LangevinState
from ebmkit.testing import Broken, Unexamined, check_component, examine, trials
from ebmkit.testing.laws import own_laws_of
from ebmkit.testing.laws.every_kind import LAWS as OF_EVERY_KIND
from ebmkit.testing.partner import model_for

MODELS = '''
"""A model with an ability of its own: it knows its standard deviation."""

import torch
from torch import nn

from ebmkit.api import Model, component


class Net(nn.Module):
    def __init__(self, event):
        super().__init__()
        self.event, self.shift = event, nn.Parameter(torch.zeros(event))

    def forward(self, x):
        return (x - self.shift).flatten(1).square().sum(1) / 2

    def deviation(self):
        return 1.0

    def sample_exact(self, n, rng):
        like = self.shift.detach()
        return like + torch.empty(n, *self.event, dtype=like.dtype, device=like.device).normal_(generator=rng)


@component("known")
class Known(Model):
    """A normal density."""

    offers = frozenset({"energy", "gradient", "sample_exact", "deviation"})

    def build(self, event):
        return Net(event)


@component("no_example")
class NoExample(Model):
    """It cannot be made."""

    offers = frozenset({"deviation"})
    width: float

    def build(self, event):
        return Net(event)
'''

SAMPLERS = '''
"""A sampler that needs the ability: independent draws of the density."""

from typing import NamedTuple

import torch
from torch import Tensor

from ebmkit.api import Sampler, StepInfo, component


class At(NamedTuple):
    x: Tensor


@component("direct")
class Direct(Sampler):
    """Draws of a normal density."""

    needs = frozenset({"energy", "deviation"})
    traces = frozenset()
    steps: int = 1
    scale: float = 1.0

    def init(self, energy, x, rng):
        return At(x)

    def step(self, energy, state, rng):
        return At(torch.empty_like(state.x).normal_(0, self.scale, generator=rng)), StepInfo()
'''


@component("blind")
class Blind(Sampler):
    """It needs what no model offers, so that no law of samplers says anything about it."""

    needs = frozenset({"wings"})
    steps: int = 1

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        return state, StepInfo()


@pytest.fixture
def plugin(tmp_path, monkeypatch, request):
    """The plugin as one module, or as a package of two."""
    name = f"partner_plugin_{request.param}"
    if request.param in ("module", "spins"):
        (tmp_path / f"{name}.py").write_text(SPINS if request.param == "spins" else MODELS + SAMPLERS)
    else:
        folder = tmp_path / name
        folder.mkdir()
        for file, text in {"__init__": f"from {name} import models, samplers", "models": MODELS}.items():
            (folder / f"{file}.py").write_text(text)
        (folder / "samplers.py").write_text(SAMPLERS)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    module = importlib.import_module(name)
    yield module.samplers if request.param == "package" else module
    for each in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[each]


both = pytest.mark.parametrize("plugin", ["module", "package"], indirect=True)

#: Laws that say nothing about samplers of real states.
OF_DISCRETE_STATES = {"keeps_the_target_when_heated"}


def law(name, component, **options):
    """The trial of one law, with one shape of states."""
    return next(trial for trial in trials([component], most=1, **options) if trial.law.__name__ == name)


@both
def test_a_model_of_the_plugin_serves_its_sampler_before_every_law(plugin):
    report = check_component(plugin.Direct)
    assert set(report.inapplicable) == OF_DISCRETE_STATES
    assert {law.__name__ for law in own_laws_of("sampler")} - OF_DISCRETE_STATES < set(report.obeyed)
    assert model_for(plugin.Direct(), (10,))[0].component_name == "known"


@both
def test_what_is_wrong_is_seen_with_a_model_of_the_plugin(plugin):
    with pytest.raises(Broken, match="off by"):
        law("keeps_the_target", plugin.Direct(scale=1.1)).run()


def test_a_component_that_no_law_of_its_kind_speaks_of_is_no_success():
    assert set(examine(Blind).obeyed) == {law.__name__ for law in OF_EVERY_KIND}
    with pytest.raises(Unexamined, match=r"sampler 'blind': no law of its kind could be applied: .*offers wings"):
        check_component(Blind)
    assert issubclass(Unexamined, Broken)


@pytest.mark.parametrize("plugin", ["module"], indirect=True)
def test_a_model_that_cannot_be_made_is_named(plugin, monkeypatch):
    monkeypatch.delattr(plugin, "Known")
    with pytest.raises(Unexamined, match=r"model 'no_example' of its plugin cannot be created from its example"):
        check_component(plugin.Direct)
    wide = plugin.NoExample(width=2.0)
    with pytest.raises(Unexamined, match=r"pass one as partners=\[...\]"):
        check_component(plugin.Direct, partners=[wide])  # it offers no energy


@pytest.mark.parametrize("plugin", ["module"], indirect=True)
def test_partners_that_are_passed_come_first(plugin):
    class Mine(plugin.Known):
        component_name = "mine"

    mine = Mine()
    assert model_for(plugin.Direct(), (2,), [mine])[0] is mine
    assert all(trial.partners == (mine,) for trial in trials([plugin.Direct], partners=[mine]))
    assert "would have seen" in law("keeps_the_target", plugin.Direct, partners=[mine]).run()


SPINS = '''
"""A model of independent spins that cannot be drawn from as a whole, and a sampler that draws each by its field."""

import torch
from torch import nn

from ebmkit.api import Model, Sampler, StepInfo, component
from ebmkit.components.samplers.langevin import LangevinState


class Net(nn.Module):
    unit_values = (-1.0, 1.0)

    def __init__(self, event):
        super().__init__()
        self.fields = nn.Parameter(torch.full(event, 0.4))

    def forward(self, x):
        return -(x * self.fields).flatten(1).sum(1)


@component("spins")
class Spins(Model):
    """Independent spins."""

    space = "spin"
    offers = frozenset({"energy", "fields"})

    def event(self):
        return (3,)

    def build(self, event):
        return Net(event)


@component("by_field")
class ByField(Sampler):
    """Draws of independent spins."""

    spaces = frozenset({"spin"})
    needs = frozenset({"energy", "fields"})
    traces = frozenset()
    steps: int = 1
    factor: float = 2.0

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        up = torch.empty_like(state.x).uniform_(generator=rng) < (self.factor * energy.module.fields).sigmoid()
        return LangevinState(torch.where(up, 1.0, -1.0).to(state.x)), StepInfo()
'''


@pytest.mark.parametrize("plugin", ["spins"], indirect=True)
def test_chains_of_few_discrete_states_are_held_against_all_of_them(plugin):
    """No exact draws are needed then; and a bias of 5 %, as step sizes have, is not allowed to those without any."""
    assert examine(plugin.ByField).inapplicable == {}
    assert set(examine(plugin.ByField(factor=2.2)).broken) == {"keeps_the_target", "keeps_the_target_when_heated"}


@pytest.mark.parametrize("plugin", ["module"], indirect=True)
def test_a_sampler_may_refuse_all_models_but_those_of_its_plugin(plugin, monkeypatch):
    def refusal(self, question):
        return None if isinstance(question.model, plugin.Known) else "moves states of 'known' alone"

    monkeypatch.setattr(plugin.Direct, "refusal", refusal, raising=False)
    assert set(check_component(plugin.Direct).inapplicable) == OF_DISCRETE_STATES
