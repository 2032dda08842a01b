"""What components of plugins may say about themselves, and what a spec is refused for."""

import pytest

from ebmkit import load_spec, run
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import ComponentFailed

PLUGIN = """
from typing import Protocol

from ebmkit.api import Model, Sampler, StepInfo, ability, component, torch
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.langevin import Langevin


@ability("wings")
class Wings(Protocol):
    def fly(self): ...


class Net(torch.nn.Module):
    def forward(self, x):
        return x.square().flatten(1).sum(1) / 2

    def fly(self):
        return 0


class Base(Model):
    def event(self):
        return (2,)

    def build(self, event):
        return Net()


@component("bird")
class Bird(Base):
    offers = frozenset({"energy", "gradient", "wings"})


@component("flyer")
class Flyer(Sampler):
    needs = frozenset({"energy", "wings"})
    steps: int = 3

    def init(self, energy, x, rng):
        return Langevin().init(energy, x, rng)

    def step(self, energy, state, rng):
        energy.ask(Wings).fly()
        return state, StepInfo()


@component("wrap")
class Wrap(Flyer):
    needs = frozenset({"energy", "log_z"})
    sampler: Sampler = Langevin(steps=1)

    def inner(self):
        return self.sampler


@component("slip")
class Slip(Base):
    def traits(self):
        return super().traits()._replace(offers=frozenset({"energy", "sample_exakt"}))


@component("raises")
class Raises(Base):
    moment: str = "traits"

    def traits(self):
        if self.moment == "traits":
            raise KeyError("no traits today")
        return super().traits()

    def refusal(self, question):
        raise KeyError("no refusal today")


@component("empty")
class Empty(Base):
    offers = frozenset({"energy", "gradient", "log_z", "sample_exact"})


@component("with_data")
class WithData(Base):
    def refusal(self, question):
        return None if question.data else "needs data"
"""


@pytest.fixture
def mistakes(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)

    def mistakes(**sections):
        try:
            load_spec({"ebmkit": 1, "samples": 10, **sections}, plugins=[str(tmp_path / "mine.py")])
        except Mistakes as found:
            return [str(mistake) for mistake in found.mistakes]
        return []

    mistakes.plugins = [str(tmp_path / "mine.py")]
    return mistakes


def test_what_fits_is_accepted(mistakes):
    assert mistakes(model="mine.bird", sampler="mine.flyer") == []


def test_an_ability_without_a_meaning_at_other_temperatures_is_refused_by_parallel_tempering(mistakes):
    (said,) = mistakes(model="mine.bird", sampler={"use": "parallel_tempering", "sampler": "mine.flyer"})
    assert "sampler 'flyer' needs 'wings', which is not defined at other temperatures than 1" in said


def test_a_name_that_parameters_decide_is_checked_too(mistakes):
    (said,) = mistakes(model="mine.slip", sampler="langevin")
    assert "names 'sample_exakt', which is no ability; did you mean 'sample_exact'?" in said


def test_a_sampler_around_another_may_need_more(mistakes):
    (said,) = mistakes(model="mine.bird", sampler="mine.wrap")
    assert "sampler 'wrap' needs 'log_z', which model 'bird' does not offer" in said


@pytest.mark.parametrize("moment", ["traits", "refusal"])
def test_a_plugin_that_raises_is_reported_at_its_line(mistakes, moment):
    (said,) = mistakes(model={"use": "mine.raises", "moment": moment}, sampler="langevin")
    assert f"model 'mine.raises': '{moment}' raised KeyError: 'no {moment} today'" in said


def test_a_part_of_a_composition_is_asked_the_whole_question(mistakes):
    whole = {"use": "sum", "components": ["mine.with_data"]}
    assert mistakes(data="two_moons", model=whole, sampler="langevin") == []
    (said,) = mistakes(model=whole, sampler="langevin")
    assert "model 'sum' contains model 'with_data', which needs data" in said


@pytest.mark.parametrize(
    "sections",
    [
        {"model": {"use": "mixture", "components": ["mine.empty"]}, "sampler": "exact"},
        {"model": "gaussian", "sampler": "langevin", "data": {"use": "from_model", "model": "mine.empty", "size": 10}},
    ],
)
def test_an_inner_model_that_lacks_what_it_offers_is_named(mistakes, tmp_path, sections):
    plan = load_spec({"ebmkit": 1, "samples": 10, **sections}, plugins=mistakes.plugins)
    with pytest.raises(ComponentFailed, match=r"model 'mine\.empty': it offers 'log_z', but its module has no log_z"):
        run(plan, runs_dir=tmp_path)


@pytest.mark.parametrize(
    ("model", "help"), [("shapes.shapeless", "a model with a fixed shape returns it from event()"), ("mlp", "")]
)
def test_a_plugin_model_without_a_shape_is_told_how_to_have_one(model, help, tmp_path):
    mine = tmp_path / "shapes.py"
    mine.write_text(
        "from ebmkit.api import Model, component\n\n\n"
        "@component('shapeless')\nclass Shapeless(Model):\n    def build(self, event):\n        raise OSError\n"
    )
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, "model": model, "sampler": "langevin"}, plugins=[str(mine)])
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.help) == ("E205", help)
