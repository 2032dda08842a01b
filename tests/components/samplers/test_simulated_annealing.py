"""`simulated_annealing`: its temperatures, and what it finds."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.icm import ICM
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.simulated_annealing import SimulatedAnnealing
from tests.components.oracles import generator


def glass(values):
    """Couplings of both signs between all of 16 units."""
    upper = torch.randn(16, 16, generator=generator(4)).triu(1)
    return (
        Boltzmann(weights=tuple(map(tuple, (upper + upper.T).tolist())), values=values)
        .build((16,))
        .requires_grad_(False)
    )


def coins(n, values):
    bits = torch.randint(2, (n, 16), generator=generator(0)).double()
    return bits if values == "binary" else 2 * bits - 1


def test_temperatures_decrease_by_one_factor():
    sampler = SimulatedAnnealing(steps=5, start=8.0, end=0.5)
    assert [sampler.temperature(k) for k in range(7)] == pytest.approx([8, 4, 2, 1, 0.5, 0.5, 0.5])
    assert SimulatedAnnealing(steps=1, start=8.0, end=0.5).temperature(0) == 0.5


@pytest.mark.parametrize("values", ["spin", "binary"])
def test_at_one_temperature_it_is_the_inner_sampler(values):
    module, x = glass(values), coins(50, values)
    annealed = SimulatedAnnealing(steps=6, sampler=Gibbs(steps=2), start=2.0, end=2.0)
    one = run_chain(annealed, module, x, generator(1)).x
    assert torch.equal(one, run_chain(Gibbs(steps=12, temperature=2.0), module, x, generator(1)).x)


def test_the_last_step_is_made_at_the_last_temperature():
    """Of two temperatures, the chain at the second is Gibbs sampling at that one from where the first ended."""
    module, x, rng = glass("spin"), coins(50, "spin"), generator(1)
    half = run_chain(Gibbs(steps=1, temperature=4.0), module, x, rng).x
    end = run_chain(Gibbs(steps=1, temperature=0.5), module, half, rng).x
    annealed = SimulatedAnnealing(steps=2, start=4.0, end=0.5)
    assert torch.equal(run_chain(annealed, module, x, generator(1)).x, end)


@pytest.mark.parametrize("values", ["spin", "binary"])
def test_it_finds_lower_energies_than_a_descent(values):
    module, x = glass(values), coins(200, values)
    lowest = float(module(module.ground_state()[None]))
    found = module(run_chain(SimulatedAnnealing(steps=200, start=8.0, end=0.1), module, x, generator(1)).x)
    descent = module(run_chain(ICM(), module, x, generator(1)).x)
    assert float((found <= lowest + 1e-9).double().mean()) > 0.5
    assert float(found.mean()) < float(descent.mean()) - 0.5
    assert bool((found >= lowest - 1e-9).all())


def test_real_states_are_annealed_too():
    module = DoubleWell().build((2,))
    sampler = SimulatedAnnealing(steps=60, sampler=Metropolis(steps=5, scale=0.3), start=2.0, end=0.01)
    x = run_chain(sampler, module, 2 * torch.randn(50, 2, generator=generator(0)), generator(1)).x
    grid = torch.cartesian_prod(*[torch.linspace(-3, 3, 301)] * 2)
    assert float(module(x).mean()) < float(module(grid).min()) + 0.1


def test_energies_are_those_of_the_model_not_of_its_temperature():
    module, sampler = glass("spin"), SimulatedAnnealing(start=8.0)
    with frozen(module) as energy:
        state = sampler.init(energy, coins(5, "spin"), generator(0))
        _, info = sampler.step(energy, state, generator(0))
        torch.testing.assert_close(info.energy, module(state.x).detach())
    assert math.isfinite(float(info.energy.sum()))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"start": 1.0, "end": 2.0}, "'end' is 2, but temperatures decrease from 'start', which is 1"),
        ({"sampler": Gibbs(temperature=2.0)}, "sets its own 'temperature'; remove it, because 'start' sets it"),
        ({"sampler": ICM()}, "searches for low energies, but a sampler of exp"),
        ({"sampler": SimulatedAnnealing()}, "searches for low energies, but a sampler of exp"),
    ],
)
def test_what_cannot_be_annealed_is_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        SimulatedAnnealing(**parameters)
