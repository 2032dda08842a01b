"""`icm`: the mode of each unit given all others, and where this leads."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.ising import Ising
from ebmkit.components.samplers.icm import ICM
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, generator

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
both = pytest.mark.parametrize("values", ["spin", "binary"])


def coins(n, event, values, seed=0):
    bits = torch.randint(2, (n, *event), generator=generator(seed)).double()
    return bits if values == "binary" else 2 * bits - 1


def machine(event, values):
    d, rng = math.prod(event), generator(1)
    upper = torch.randn(d, d, generator=rng).triu(1)
    rows = tuple(map(tuple, (upper + upper.T).tolist()))
    return Boltzmann(weights=rows, biases=(0.1,) * d, shape=event, values=values).build(event)


def with_unit(x, unit, value):
    x = x.clone()
    x.view(len(x), -1)[:, unit] = value
    return x


def by_hand(module, x, values):
    """One sweep, in which each unit takes the value of the lower energy, from first to last."""
    for unit in range(x[0].numel()):
        low, high = (with_unit(x, unit, value) for value in ((0, 1) if values == "binary" else (-1, 1)))
        lower = (module(low) < module(high)).view(-1, *[1] * (x.dim() - 1))
        x = torch.where(lower, low, high)
    return x


@shapes
@both
def test_a_sweep_takes_the_lower_energy_unit_by_unit(event, values):
    module, x = machine(event, values), coins(40, event, values)
    assert torch.equal(run_chain(ICM(steps=1), module, x, generator(0)).x, by_hand(module, x, values))


@shapes
@both
def test_synchronous_units_see_the_sweep_before(event, values):
    module, x = machine(event, values), coins(40, event, values)
    field = module.local_field(x.flatten(1)).view_as(x)
    expected = torch.where(field > 0, 1.0, 0.0 if values == "binary" else -1.0)
    assert torch.equal(run_chain(ICM(steps=1, scan="synchronous"), module, x, generator(0)).x, expected)


@both
@pytest.mark.parametrize("scan", ["block", "random"])
def test_the_energy_never_increases_and_ends_in_a_local_minimum(values, scan):
    module, sampler, rng = machine((3, 4), values), ICM(scan=scan), generator(2)
    state = sampler.init(None, coins(100, (3, 4), values), rng)
    with frozen(module) as energy:
        for _ in range(30):
            before = energy(state.x)
            state, info = sampler.step(energy, state, rng)
            assert torch.equal(info.energy, before)
            assert bool((energy(state.x) <= before + 1e-12).all())
        for unit in range(12):
            value = (1 if values == "binary" else 0) - state.x.flatten(1)[:, unit]
            assert bool((energy(with_unit(state.x, unit, value)) >= energy(state.x) - 1e-12).all())


def test_a_random_scan_has_another_order_in_every_sweep():
    """Of two neighbours that disagree, the first to change takes the value of the other."""
    module = Ising(shape=(2,)).build((2,))
    x = torch.tensor([[1.0, -1.0]])
    ends = {tuple(run_chain(ICM(steps=1, scan="random"), module, x, generator(k)).x[0].tolist()) for k in range(20)}
    assert ends == {(1.0, 1.0), (-1.0, -1.0)}


@pytest.mark.parametrize("scan", ["block", "random", "synchronous"])
def test_a_sweep_is_over_all_units(scan):
    module = Boltzmann(weights=((0.0,) * 9,) * 9, biases=(1.0,) * 9).build((9,))
    assert bool((run_chain(ICM(steps=1, scan=scan), module, torch.zeros(3, 9), generator(0)).x == 1).all())


def test_two_units_that_change_at_once_alternate():
    module, x = Ising(shape=(2,)).build((2,)), torch.tensor([[1.0, -1.0]])
    assert torch.equal(run_chain(ICM(steps=1, scan="synchronous"), module, x, generator(0)).x, -x)
    assert torch.equal(run_chain(ICM(steps=2, scan="synchronous"), module, x, generator(0)).x, x)


@both
@pytest.mark.parametrize("scan", ["block", "random", "synchronous"])
def test_a_unit_without_a_preference_keeps_its_value(values, scan):
    module = Boltzmann(weights=((0.0,) * 5,) * 5, values=values).build((5,))
    x = coins(30, (5,), values)
    assert torch.equal(run_chain(ICM(steps=2, scan=scan), module, x, generator(0)).x, x)


def test_numbers_that_are_not_finite_are_not_hidden():
    module = Boltzmann(weights=((0.0,) * 2,) * 2, values="spin").build((2,))
    module.biases.data[1] = math.nan
    found = run_chain(ICM(steps=1), module, torch.ones(3, 2), generator(0)).x
    assert found[:, 1].isnan().all()


def test_it_is_no_sampler_of_a_distribution():
    assert ICM().traits().searches
    with pytest.raises(ValueError, match="sampler 'icm' searches for low energies"):
        ParallelTempering(sampler=ICM())
    with pytest.raises(Mistakes, match="searches for one state of low energy, so it cannot run long chains"):
        load_spec({"ebmkit": 1, "model": "ising", "sampler": "icm", "chains": {"count": 4}})
    with pytest.raises(Mistakes, match="needs 'blocks, conditionals'"):
        load_spec({"ebmkit": 1, "model": {"use": "tempered", "model": "ising"}, "sampler": "icm"})
