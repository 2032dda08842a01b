"""Chains that move each other are refused where chains are taken to be independent."""

import pytest

from ebmkit.api import Sampler, StepInfo, component
from ebmkit.components.samplers.langevin import LangevinState
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.components.samplers.simulated_annealing import SimulatedAnnealing
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.mixing import verdict
from ebmkit.language.load import load_spec
from ebmkit.testing import examine
from tests.language.specs import mistakes_of

FLOCK = """
from typing import NamedTuple

from ebmkit.api import Sampler, StepInfo, component, torch


class Flock(NamedTuple):
    x: torch.Tensor


@component("gather")
class Gather(Sampler):
    traces = frozenset({"acceptance"})
    steps: int = 2

    def traits(self):
        return super().traits()._replace(interacting=True)

    def init(self, energy, x, rng):
        return Flock(x)

    def step(self, energy, state, rng):
        energy, gradient = energy.value_and_grad(state.x)
        x = state.x - 0.1 * gradient - 0.1 * (state.x - state.x.mean(0))
        return Flock(x), StepInfo(acceptance=torch.ones_like(energy))
"""


@component("gather")
class Gather(Sampler):
    """Every chain is drawn to the mean of all."""

    traces = frozenset()
    steps: int = 2

    def traits(self):
        return super().traits()._replace(interacting=True)

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        _, gradient = energy.value_and_grad(state.x)
        return LangevinState(state.x - 0.1 * gradient - 0.1 * (state.x - state.x.mean(0))), StepInfo()


@pytest.mark.parametrize(
    ("more", "line", "says"),
    [
        ("sampler: flock.gather\nchains: {count: 4}\n", 4, "'gather' lets its chains move each other, so R-hat"),
        (
            "sampler: {use: parallel_tempering, sampler: flock.gather}\n",
            3,
            "lets its chains move each other, but replicas differ in temperature",
        ),
        (
            "sampler: langevin\nevaluate: [{use: ais, sampler: flock.gather}]\n",
            4,
            "lets its chains move each other, but each of them has a weight of its own",
        ),
    ],
    ids=["long chains", "replicas", "weighted chains"],
)
def test_they_are_refused_where_chains_must_be_independent(more, line, says, tmp_path):
    plugin = tmp_path / "flock.py"
    plugin.write_text(FLOCK)
    (mistake,) = mistakes_of("ebmkit: 1\nmodel: gaussian\n" + more, tmp_path, plugins=[str(plugin)])
    assert says in str(mistake)
    assert mistake.place.line == line


def test_samples_are_their_ends_and_nothing_is_said_about_mixing(tmp_path):
    (tmp_path / "flock.py").write_text(FLOCK)
    spec = "ebmkit: 1\nmodel: gaussian\nsampler: flock.gather\nsamples: 20\n"
    (tmp_path / "spec.yaml").write_text(spec)
    plan = load_spec(tmp_path / "spec.yaml", plugins=[str(tmp_path / "flock.py")])
    view = assemble(plan, build(plan), None)
    assert view.samples(20).shape == (20, 2)
    assert verdict(view).startswith("the samples are the last states of chains of 2 steps")
    assert "that move each other" in verdict(view)
    assert "R-hat" not in verdict(view)


def test_the_laws_know_it():
    report = examine(Gather())
    assert not report.broken
    assert "chains_are_independent" in report.obeyed
    assert "move each other" in report.inapplicable["keeps_the_target"]


def test_an_outer_sampler_at_one_temperature_passes_it_on():
    assert SimulatedAnnealing(sampler=Gather()).traits().interacting
    assert not ParallelTempering().traits().interacting
