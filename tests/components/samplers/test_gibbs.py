"""`gibbs` and `gibbs_with_gradients`: what a step sees and keeps. That it is right is proved in `tests/statistics`."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy, frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.ising import Ising
from ebmkit.components.models.sum import Sum
from ebmkit.components.models.tempered import Tempered
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, generator

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def coins(n, event, values, seed=0):
    bits = torch.randint(2, (n, *event), generator=generator(seed)).double()
    return bits if values == "binary" else 2 * bits - 1


def machine(event, values):
    d, rng = math.prod(event), generator(1)
    upper = torch.randn(d, d, generator=rng).triu(1)
    rows = tuple(map(tuple, (upper + upper.T).tolist()))
    return Boltzmann(weights=rows, biases=(0.5,) * d, shape=event, values=values).build(event)


@shapes
@pytest.mark.parametrize("values", ["binary", "spin"])
@pytest.mark.parametrize("sampler", [Gibbs(), Gibbs(scan="random"), Gibbs(scan="fixed"), GibbsWithGradients()], ids=str)
def test_states_stay_what_they_are(event, values, sampler):
    module, x = machine(event, values), coins(50, event, values)
    with frozen(module) as energy:
        state = sampler.init(energy, x, generator(2))
        for _ in range(4):
            before = state.x.clone()
            state, info = sampler.step(energy, state, generator(3))
            assert set(state.x.unique().tolist()) <= ({0.0, 1.0} if values == "binary" else {-1.0, 1.0})
            torch.testing.assert_close(info.energy, module(before))


@shapes
def test_energy_and_gradient_go_along_with_the_position(event):
    """One evaluation a step; a flip of one unit, or none."""
    module, sampler, rng = machine(event, "spin"), GibbsWithGradients(), generator(2)
    with frozen(module) as energy:
        state = sampler.init(energy, coins(200, event, "spin"), rng)
        for step in range(1, 6):
            before = state.x
            state, info = sampler.step(energy, state, rng)
            assert energy.evaluations == step + 1
            value, gradient = module.energy_and_grad(state.x)
            torch.testing.assert_close(state.energy, value)
            torch.testing.assert_close(state.gradient, gradient)
            flips = (state.x != before).flatten(1).sum(1)
            assert set(flips.tolist()) <= {0, 1}
            assert bool((flips[info.acceptance == 1] == 1).all())
            assert not bool(info.divergence.any())


def test_an_image_that_is_laid_out_otherwise_is_moved_all_the_same():
    module = machine((2, 2, 3), "binary")
    x = coins(40, (2, 2, 3), "binary")
    other = x.to(memory_format=torch.channels_last)
    assert not other.is_contiguous()
    for sampler in (Gibbs(steps=3), Gibbs(steps=3, scan="random"), GibbsWithGradients(steps=5)):
        one, two = (run_chain(sampler, module, start, generator(2)).x for start in (x, other))
        torch.testing.assert_close(one, two, rtol=0, atol=0)


@pytest.mark.parametrize("scan", ["block", "fixed", "random"])
def test_the_cold_limit_goes_to_where_energy_is_low(scan):
    """At T = 1e-3 a ferromagnet in a strong field is all up; at T = 1e6 it is a coin."""
    module = Ising(shape=(6, 6), coupling=0.1, field=0.5).build((6, 6))
    x = coins(400, (6, 6), "spin")
    assert bool((run_chain(Gibbs(steps=40, scan=scan, temperature=1e-3), module, x, generator(1)).x == 1).all())
    hot = run_chain(Gibbs(steps=5, scan=scan, temperature=1e6), module, x, generator(1)).x
    assert abs(float(hot.mean())) < 5.5 / math.sqrt(hot.numel())


def test_a_random_scan_is_the_same_in_all_chains():
    """At next to no temperature, units that were drawn are high and those that were not keep their value."""
    module = Boltzmann(weights=((0.0,) * 12,) * 12, biases=(1.0,) * 12, values="spin").build((12,))
    x = -torch.ones(30, 12)
    after = run_chain(Gibbs(steps=1, scan="random", temperature=1e-6), module, x, generator(4)).x
    assert bool((after == after[0]).all())
    assert 0 < int((after[0] == -1).sum()) < 12


@pytest.mark.parametrize(
    "model",
    [
        Sum(components=(Boltzmann(shape=(3,), values="spin"), Ising(shape=(3,)))),
        Tempered(model=Ising(shape=(3,)), temperature=2.0),
    ],
)
def test_gradients_serve_compositions(model):
    """Which offer an energy and a gradient, and no conditionals."""
    assert model.traits().space == "spin"
    assert "blocks" not in model.traits().offers
    x = run_chain(GibbsWithGradients(steps=3), model.build((3,)), coins(20, (3,), "spin"), generator(0)).x
    assert set(x.unique().tolist()) <= {-1.0, 1.0}


def test_a_network_that_does_not_name_its_values_is_told_so():
    class Nameless(nn.Module):
        def forward(self, x):
            return x.sum(1)

    with pytest.raises(TypeError, match="lacks 'unit_values'"):
        Energy(Nameless()).unit_values  # noqa: B018


def said(spec):
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, **spec})
    return str(caught.value)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"model": {"use": "gaussian", "mean": [0, 0]}, "sampler": "gibbs"}, "needs 'blocks'"),
        ({"model": "ising", "sampler": "langevin"}, "needs real states, but model 'ising' has spin states"),
        ({"model": {"use": "ising", "shape": [9, 9]}, "sampler": "exact"}, "needs 'sample_exact'"),
        ({"model": {"use": "tempered", "model": "ising"}, "sampler": "gibbs"}, "needs 'blocks'"),
        ({"model": "ising", "sampler": {"use": "gibbs", "scan": "raster"}}, "'block' or 'fixed' or 'random'"),
        ({"model": "ising", "sampler": {"use": "gibbs", "temperature": 0}}, "greater than 0"),
        ({"model": {"use": "boltzmann", "weights": [[0, 1], [2, 0]]}, "sampler": "gibbs"}, "is not symmetric"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(spec, says):
    assert says in said(spec)
