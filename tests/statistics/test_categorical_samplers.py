"""Samplers on categorical units, proved: transition matrices by enumeration, then chi-square of real chains."""

import math
from itertools import chain

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy, frozen
from ebmkit.chains.one_hot import one_hot
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.models.potts import Potts
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.components.samplers.icm import ICM
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.components.samplers.simulated_annealing import SimulatedAnnealing
from ebmkit.contracts.abilities import Conditionals
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.maths.categories import draw_categories
from ebmkit.testing.setting import small_setting
from tests.components.models.test_categorical import (
    binary_pair,
    energy_by_hand,
    every_state,
    model_of,
)
from tests.statistics.test_discrete_samplers import EXACT, assert_counts, generator, law
from tests.statistics.transitions import balance_error, rows, stationary_error, transition_matrix
from tests.statistics.transitions import number as number_of

#: Kind, shape and number of categories.
TARGETS = {
    "one unit": ("machine", (1,), 5),
    "two units": ("machine", (2,), 3),
    "ring": ("torus", (3,), 3),
    "image": ("lattice", (1, 2, 2), 2),
    "graph": ("graph", (2,), 5),
}
targets = pytest.mark.parametrize("name", TARGETS)


def built(name):
    """The module, all its states, and their energies by hand."""
    kind, event, categories = TARGETS[name]
    states = every_state(event, categories)
    return model_of(kind, event, categories).build(event), states, energy_by_hand(kind, states, categories)


def kernel(pi, states, block):
    """The units of the block are drawn from pi given all others."""
    others = states.flatten(1).clone()
    others[:, block] = -1
    _, group = others.unique(dim=0, return_inverse=True)
    same = group.unsqueeze(0) == group.unsqueeze(1)
    return same * pi / (same * pi).sum(1, keepdim=True)


@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("scan", ["block", "fixed"])
@targets
def test_a_sweep_is_the_product_of_its_draws(name, scan, temperature):
    module, states, energy = built(name)
    pi = (-energy / temperature).softmax(0)
    P = transition_matrix(Gibbs(scan=scan, temperature=temperature), module, states)
    assert stationary_error(P, pi) < EXACT
    units = states[0].numel()
    blocks = [block.tolist() for block in module.blocks()] if scan == "block" else [[k] for k in range(units)]
    assert sorted(chain.from_iterable(blocks)) == list(range(units))
    expected = torch.eye(len(pi))
    for block in blocks:
        expected = expected @ kernel(pi, states, block)
    torch.testing.assert_close(P, expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("name", ["one unit", "two units"])
def test_a_random_sweep_is_reversible(name):
    module, states, energy = built(name)
    pi, units = (-energy).softmax(0), states[0].numel()
    P = transition_matrix(Gibbs(scan="random"), module, states)
    one = sum(kernel(pi, states, [k]) for k in range(units)) / units
    torch.testing.assert_close(P, torch.linalg.matrix_power(one, units), rtol=0, atol=EXACT)
    assert balance_error(P, pi) < EXACT


@pytest.mark.parametrize("scan", ["block", "fixed"])
def test_a_heated_energy_is_that_at_its_temperature(scan):
    module, states, energy = built("two units")

    def run(rng):
        with frozen(module) as cold:
            hot = cold.at(torch.full((len(states),), 2.5))
            sampler = Gibbs(scan=scan)
            return number_of(sampler.step(hot, sampler.init(hot, states.clone(), rng), rng)[0].x, states)

    P = rows(run, chains=len(states), states=len(states))
    assert stationary_error(P, (-energy / 2.5).softmax(0)) < EXACT


# Gibbs with gradients -------------------------------------------------------------------------------------------------


class Crooked(nn.Module):
    """An energy that is not linear in one-hot vectors, without a gradient by hand."""

    def __init__(self, units, categories):
        super().__init__()
        rng = generator(0)
        self.unit_values = tuple(map(float, range(categories)))
        self.first = nn.Parameter(torch.randn(units * categories, 5, generator=rng))
        self.second = nn.Parameter(2 * torch.randn(5, generator=rng))

    def forward(self, x):
        return self.one_hot_energy(one_hot(x, len(self.unit_values)))

    def one_hot_energy(self, hot):
        return (hot.flatten(1) @ self.first + 0.3).tanh() @ self.second + hot.flatten(1).pow(3).sum(1) / 5


def informed(module, states, categories, temperature):
    """The kernel of arXiv:2102.04509 for one-hot vectors, a state and a change at a time."""
    hot = one_hot(states, categories).requires_grad_()
    (slope,) = torch.autograd.grad(-module.one_hot_energy(hot).sum() / temperature, hot)
    f = (-module(states) / temperature).tolist()
    slope, flat = slope.flatten(1, -2).tolist(), states.flatten(1).long().tolist()
    index = {tuple(row): a for a, row in enumerate(flat)}

    def q(a):
        weights = {
            (i, k): math.exp((slope[a][i][k] - slope[a][i][flat[a][i]]) / 2)
            for i in range(len(flat[0]))
            for k in range(categories)
            if k != flat[a][i]
        }
        total = sum(weights.values())
        return {change: weight / total for change, weight in weights.items()}

    every, P = [q(a) for a in range(len(f))], torch.zeros(len(f), len(f))
    for a, row in enumerate(flat):
        for (i, k), forth in every[a].items():
            b = index[(*row[:i], k, *row[i + 1 :])]
            P[a, b] = forth * min(1.0, math.exp(f[b] - f[a]) * every[b][i, row[i]] / forth)
    return P + torch.diag(1 - P.sum(1))


@pytest.mark.parametrize("temperature", [1.0, 2.3])
@pytest.mark.parametrize("name", [*TARGETS, "crooked"])
def test_gradients_propose_and_energies_decide(name, temperature):
    if name == "crooked":
        categories, states = 3, every_state((1, 1, 3), 3)
        module = Crooked(3, 3)
    else:
        (module, states, _), categories = built(name), TARGETS[name][2]
    pi = law(module, states, temperature)
    P = transition_matrix(GibbsWithGradients(temperature=temperature), module, states)
    assert stationary_error(P, pi) < EXACT
    assert balance_error(P, pi) < EXACT
    torch.testing.assert_close(P, informed(module, states, categories, temperature), rtol=0, atol=EXACT)
    assert 0.01 < float((pi * (1 - P.diagonal())).sum()) <= 1  # it moves


def test_energy_and_gradient_go_along_with_the_position():
    """Two steps are the square of one."""
    module, states = Crooked(2, 3), every_state((2,), 3)
    once = transition_matrix(GibbsWithGradients(), module, states)
    twice = transition_matrix(GibbsWithGradients(), module, states, steps=2)
    torch.testing.assert_close(twice, once @ once, rtol=0, atol=EXACT)


def test_changes_to_where_there_is_no_energy_are_refused_and_counted():
    class Holed(Crooked):
        def forward(self, x):
            return torch.where(x[:, 0] == 2, math.nan, super().forward(x))

        def energy_and_grad(self, x):
            with torch.enable_grad():
                hot = one_hot(x, 3).requires_grad_()
                (slope,) = torch.autograd.grad(self.one_hot_energy(hot).sum(), hot)
            return self(x).detach(), slope

    module = Holed(2, 3)
    states = every_state((2,), 3)
    states = states[states[:, 0] != 2]
    P = transition_matrix(GibbsWithGradients(), module, states)
    assert balance_error(P, law(module, states)) < EXACT
    with frozen(module) as energy:
        x, sampler = states.repeat(200, 1), GibbsWithGradients()
        after, info = sampler.step(energy, sampler.init(energy, x, generator(0)), generator(0))
    stuck = info.divergence == 1
    assert 0 < int(stuck.sum()) < len(x)
    assert torch.equal(after.x[stuck], x[stuck])


@pytest.mark.parametrize("sampler", [Gibbs(), Gibbs(scan="fixed"), GibbsWithGradients()], ids=lambda s: str(s)[:30])
def test_two_categories_have_the_transitions_of_two_values(sampler):
    two, one = (model.build((3,)) for model in binary_pair(3))
    states = every_state((3,), 2)
    P = [transition_matrix(sampler, module, states) for module in (one, two)]
    torch.testing.assert_close(*P, rtol=0, atol=EXACT)


# Searches -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scan", ["block", "random", "synchronous"])
@targets
def test_modes_are_those_of_the_conditionals(name, scan):
    """A sweep from every state takes for each unit in turn the category of the lowest energy."""
    kind, event, categories = TARGETS[name]
    module, states, _ = built(name)
    x = run_chain(ICM(steps=1, scan=scan), module, states, generator(3)).x
    flat, units = states.flatten(1).clone(), states[0].numel()
    order = {
        "block": [block.tolist() for block in module.blocks()],
        "random": [[int(k)] for k in torch.randperm(units, generator=generator(3))],
        "synchronous": [list(range(units))],
    }[scan]
    for block in order:
        new = flat.clone()
        for unit in block:
            each = []
            for k in range(categories):
                changed = flat.clone()
                changed[:, unit] = k
                each.append(energy_by_hand(kind, changed.view(-1, *event), categories))
            new[:, unit] = torch.stack(each, 1).argmin(1).double()
        flat = new
    assert torch.equal(x.flatten(1), flat)


def test_a_unit_without_a_preference_keeps_its_category():
    module = Potts(shape=(2,), categories=3, coupling=0.0, field=(0.0, 1.0, 1.0)).build((2,))
    x = torch.tensor([[0.0, 2.0], [1.0, 2.0]])
    assert run_chain(ICM(steps=1), module, x, generator(0)).x.tolist() == [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize("name", ["two units", "image"])
def test_annealing_finds_the_ground_state(name):
    """Where the next state is more than 1 above it; the ring has one 0.07 above, in which a third of the chains end."""
    module, states, energy = built(name)
    assert float(energy.sort().values[1] - energy.min()) > 1
    sampler = SimulatedAnnealing(sampler=Gibbs(steps=1), steps=200, start=4.0, end=0.02)
    x = run_chain(sampler, module, states[:1].repeat(50, *[1] * (states.dim() - 1)), generator(1)).x
    assert torch.equal(x, states[energy.argmin()].expand_as(x))


# Real random numbers --------------------------------------------------------------------------------------------------

CHAINS = 20_000
SAMPLERS = {
    "block": Gibbs(steps=3),
    "fixed": Gibbs(steps=3, scan="fixed"),
    "random": Gibbs(steps=3, scan="random"),
    "gradients": GibbsWithGradients(steps=10),
    "tempering": ParallelTempering(steps=3, sampler=Gibbs(steps=2), temperatures=(1.0, 2.0, 4.0)),
    "exact": Exact(),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ["ring", "graph"])
def test_chains_that_begin_in_the_target_stay_in_it(name, sampler, dtype):
    module, states, energy = built(name)
    pi = (-energy).softmax(0)
    x = states[torch.multinomial(pi, CHAINS, replacement=True, generator=generator(1))]
    module, x = module.to(dtype), x.to(dtype)
    ended = run_chain(SAMPLERS[sampler], module, x, generator(2)).x
    assert_counts(ended.double(), states, pi, comparisons=4 * len(SAMPLERS))


@targets
def test_chains_from_noise_reach_it(name):
    module, states, energy = built(name)
    starts = NoiseStart().build(tuple(states.shape[1:]))
    prepare_modules(starts, small_setting(module, tuple(states.shape[1:]), "categorical"))
    start = starts.draw(states[:1].expand(CHAINS, *states.shape[1:]), generator(3))
    uniform = torch.full((len(states),), 1 / len(states))
    assert_counts(start, states, uniform, comparisons=2 * len(TARGETS))
    x = run_chain(Gibbs(steps=40), module, start, generator(4)).x
    assert_counts(x, states, (-energy).softmax(0), comparisons=2 * len(TARGETS))


def test_draws_have_the_probabilities_of_their_logits():
    """Rare categories too; what is impossible is never drawn, and what is not a number is not hidden."""
    logits = torch.tensor([0.0, -3.0, 2.0, -torch.inf, -7.0])
    drawn = draw_categories(logits.expand(400_000, -1), generator(5)).unsqueeze(1)
    assert not bool((drawn == 3).any())
    assert_counts(drawn, torch.arange(5.0).unsqueeze(1)[[0, 1, 2, 4]], logits.softmax(0)[[0, 1, 2, 4]])
    assert bool(draw_categories(torch.tensor([[0.0, math.nan], [-math.inf] * 2]), generator(0)).isnan().all())


def test_gradients_and_odds_are_those_of_one_hot_vectors_and_are_heated():
    module, states, _ = built("two units")
    energy = Energy(module)
    value, slope = energy.value_and_grad(states)
    hot_value, hot_slope = energy.at(torch.full((len(states),), 2.0)).value_and_grad(states)
    torch.testing.assert_close(hot_value, value / 2)
    torch.testing.assert_close(hot_slope, slope / 2)
    assert slope.shape == (9, 2, 3)
    sites = torch.arange(2)
    odds = energy.at(torch.full((len(states),), 2.0)).ask(Conditionals).log_odds(states, sites)
    torch.testing.assert_close(odds, module.log_odds(states, sites) / 2)
