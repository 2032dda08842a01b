"""Proofs that were missing until a planted bug survived all others (see `planted_bugs.py`)."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.draws import run_chains
from ebmkit.chains.energy import frozen
from ebmkit.chains.warmup import warm_up
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.langevin import Langevin
from tests.components.oracles import generator
from tests.statistics.test_discrete_samplers import assert_counts
from tests.statistics.transitions import every_state


class Steep(nn.Module):
    def forward(self, x):
        return x.flatten(1).pow(4).sum(1)


@pytest.mark.parametrize("event", [(1,), (1, 2, 2)], ids=str)
def test_a_clamp_does_not_bring_back_what_ran_away(event):
    x = torch.stack([torch.full(event, value) for value in (1e200, -1e200, 0.5)])
    x = run_chain(Langevin(steps=1, clamp=(-1.0, 1.0)), Steep(), x, generator(0)).x.flatten(1)
    assert not bool(x[:2].isfinite().any())
    assert float(x[2].abs().max()) <= 1


class Forbidden(nn.Module):
    """Units that pull on each other; where all are high the energy is whatever the test says."""

    def __init__(self, values, there):
        super().__init__()
        self.unit_values, self.there = values, there

    def forward(self, x):
        flat = x.flatten(1)
        energy = flat.sum(1).square() / 4 - flat @ torch.linspace(-1.0, 1.5, flat.shape[1])
        return torch.where((flat == self.unit_values[1]).all(1), self.there, energy)


@pytest.mark.parametrize("there", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0)], ids=["binary", "spin"])
def test_flips_to_where_there_is_no_energy_are_refused_and_counted(values, there):
    """What remains is the table without that state. A chi-square for each of six cases."""
    module, states = Forbidden(values, there), every_state((1, 2, 2), values)[:-1]
    pi = (-module(states)).softmax(0)
    x = states[torch.multinomial(pi, 50_000, replacement=True, generator=generator(1))]
    chain = run_chain(GibbsWithGradients(steps=8), module, x, generator(2), traces=True)
    assert not bool((chain.x == values[1]).flatten(1).all(1).any())
    assert_counts(chain.x, states, pi, comparisons=6)
    assert 0.001 < float(chain.traces["divergence"].mean()) < 0.5
    assert bool((chain.last.acceptance[chain.last.divergence == 1] == 0).all())


def test_draws_come_from_a_chain_that_no_longer_changes():
    """Behind its warm-up, to the last bit."""
    module, x = Gaussian(mean=(0.0, 1.0), covariance=(0.1, 2.0)).build((2,)), torch.zeros(8, 2)
    sampler = HMC(leapfrog_steps=3)
    draws = run_chains(sampler, module, x, generator(1), draws=5, thin=2, burn_in=3, warmup=40)
    with frozen(module) as energy:
        rng = generator(1)
        state, _ = warm_up(sampler, energy, sampler.init(energy, x, rng), rng, 40)
        assert state.step_size.equal(draws.tuning["step_size"])
        kept = []
        for step in range(1, 3 + 5 * 2 + 1):
            state, _ = sampler.step(energy, state, rng)
            if step > 3 and (step - 3) % 2 == 0:
                kept.append(state.x)
    assert torch.stack(kept, 1).equal(draws.x)
