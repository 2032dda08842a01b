"""`parallel_tempering`, proved: detailed balance by enumeration, then laws of real chains at every temperature."""

import math
from itertools import product

import pytest
import torch
from torch import nn

from ebmkit.api import Sampler, StepInfo, component
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy, frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.ising import Ising
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf, random_covariance, rows
from tests.statistics.transitions import Dice, balance_error, every_state, number, stationary_error
from tests.statistics.transitions import rows as law_of

#: What rounding may leave of an equality between probabilities.
EXACT = 1e-12

LADDERS = {2: (1.0, 2.5), 3: (1.0, 1.7, 4.0), 4: (1.0, 1.5, 2.5, 6.0)}


@component("still")
class Still(Sampler):
    """Leaves states where they are, so that a step is nothing but the exchanges."""

    spaces = frozenset({"real", "binary", "spin"})
    steps: int = 1

    def init(self, energy, x, rng):
        return Langevin().init(energy, x, rng)

    def step(self, energy, state, rng):
        return state, StepInfo()


# Enumeration ----------------------------------------------------------------------------------------------------------


def laws(module, states, temperatures):
    """Of all states at every temperature, `(R, N)`."""
    with torch.no_grad():
        return (-module(states) / torch.tensor(temperatures).unsqueeze(1)).softmax(1)


def product_law(module, states, temperatures):
    """Of all states of all replicas, the hottest one changing first."""
    pi = torch.ones(1)
    for law in laws(module, states, temperatures):
        pi = torch.outer(pi, law).flatten()
    return pi


def transition_matrix(sampler, module, states, normal=()):
    """Of one step, on all states of all replicas, from one at a time."""
    count = len(sampler.temperatures)

    def run(start, rng):
        with frozen(module) as energy:
            state = sampler.begin(energy, states[list(start)].unsqueeze(1), rng)
            state, _ = sampler.step(energy, state, rng)
        place = number(state.replicas.x * state.unit, states)
        assert torch.equal(state.x[0], states[place[0]])
        return (place * len(states) ** torch.arange(count - 1, -1, -1)).sum().view(1)

    joint = list(product(range(len(states)), repeat=count))
    law = [law_of(lambda rng, k=k: run(k, rng), chains=1, states=len(joint), normal=normal) for k in joint]
    return torch.cat(law)


def exchanges(energies, temperatures):
    """The kernel of the exchanges as the papers write it: even pairs or odd ones, all by themselves."""
    count = len(temperatures)
    joint = list(product(range(len(energies)), repeat=count))
    pairings = [range(0, count - 1, 2), range(1, count - 1, 2)]
    pairings = [pairing for pairing in pairings if len(pairing)]
    P = torch.zeros(len(joint), len(joint))
    for a, start in enumerate(joint):
        for pairing in pairings:
            for swapped in product([False, True], repeat=len(pairing)):
                end, probability = list(start), 1 / len(pairings)
                for r, swap in zip(pairing, swapped, strict=True):
                    log_ratio = (1 / temperatures[r] - 1 / temperatures[r + 1]) * (
                        energies[start[r]] - energies[start[r + 1]]
                    )
                    p = min(1.0, math.exp(log_ratio))
                    probability *= p if swap else 1 - p
                    if swap:
                        end[r], end[r + 1] = end[r + 1], end[r]
                P[a, joint.index(tuple(end))] += probability
    return P


@pytest.mark.parametrize(("count", "units"), [(2, 2), (2, 3), (3, 1), (3, 2), (4, 1)])
def test_exchanges_are_those_of_the_papers_and_in_detailed_balance(count, units):
    upper = torch.randn(units, units, generator=generator(units)).triu(1)
    biases = tuple((1.5 * torch.randn(units, generator=generator(0))).tolist())
    module = Boltzmann(weights=rows(upper + upper.T), biases=biases).build((units,))
    states, temperatures = every_state(units, (0.0, 1.0)), LADDERS[count]
    P = transition_matrix(ParallelTempering(sampler=Still(), temperatures=temperatures), module, states)
    pi = product_law(module, states, temperatures)
    torch.testing.assert_close(P.sum(1), torch.ones(len(P)), rtol=0, atol=EXACT)
    assert balance_error(P, pi) < EXACT
    assert stationary_error(P, pi) < EXACT
    energies = module(states).tolist()
    torch.testing.assert_close(P, exchanges(energies, temperatures), rtol=0, atol=EXACT)


class Stairs(nn.Module):
    """Heights of the numbers 0, 1, 2; beyond them the energy is infinite."""

    heights = torch.tensor([0.3, -1.0, 1.2], dtype=torch.float64)

    def forward(self, x):
        inside = (x[:, 0] >= 0) & (x[:, 0] < len(self.heights))
        return torch.where(inside, self.heights[x[:, 0].clamp(0, len(self.heights) - 1).long()], torch.inf)


@pytest.mark.parametrize("steps", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_whole_step_around_metropolis(steps):
    """Proposals of one unit up or down, in the place of normal ones; a unit at T = 4 is 2. The cold replica walks from
    number to number, the hot one between 0 and 2, and both see all numbers by exchanges. A step with as many moves
    before the exchange as behind it is the same backwards."""
    sampler = ParallelTempering(sampler=Metropolis(steps=steps, scale=1.0), temperatures=(1.0, 4.0))
    states = torch.arange(3.0).unsqueeze(1)
    P = transition_matrix(sampler, Stairs(), states, normal=[(-1.0, 0.5), (1.0, 0.5)])
    pi = product_law(Stairs(), states, (1.0, 4.0))
    assert stationary_error(P, pi) < EXACT
    assert (balance_error(P, pi) < EXACT) == (steps % 2 == 0)
    assert float(torch.linalg.matrix_power(P, 200).sub(pi).abs().max()) < 1e-6  # it gets everywhere


@pytest.mark.parametrize(
    ("count", "units", "scan"), [pytest.param(2, 2, "fixed", marks=pytest.mark.long), (3, 1, "block")]
)
def test_a_whole_step_around_gibbs(count, units, scan):
    """With one sweep before the exchange and none behind it a step is not the same backwards, but keeps the law."""
    weights = ((0.0, 1.1), (1.1, 0.0)) if units == 2 else ((0.0,),)
    module = Ising(shape=(units,), coupling=weights, field=(0.7, -0.4)[:units]).build((units,))
    states, temperatures = every_state(units, (-1.0, 1.0)), LADDERS[count]
    sampler = ParallelTempering(sampler=Gibbs(steps=1, scan=scan), temperatures=temperatures)
    P = transition_matrix(sampler, module, states)
    assert stationary_error(P, product_law(module, states, temperatures)) < EXACT


def test_every_chain_throws_a_coin_of_its_own():
    """Else chains that are taken for independent would exchange in step."""
    module, x = Gaussian(mean=(0.0,)).build((1,)), torch.zeros(2, 1)  # all alike: each exchange that is tried is made
    sampler = ParallelTempering(sampler=Still(), temperatures=LADDERS[3])
    with frozen(module) as energy, Dice([], 1, ()) as dice:
        sampler.step(energy, sampler.init(energy, x, generator(0)), generator(0))
    assert dice.options.count(2) == 2


# Real chains, from exact draws of all replicas ------------------------------------------------------------------------

#: Sizes of steps that are refused often enough to test something, at every temperature.
INNER = {
    "metropolis": lambda d: Metropolis(steps=3, scale=1.5 / math.sqrt(d)),
    "mala": lambda d: MALA(steps=2, step_size=0.35 / d ** (1 / 3)),
    "hmc": lambda d: HMC(steps=2, step_size=0.7 / d**0.25, leapfrog_steps=3),
}
#: Draws of all replicas together.
DRAWS = 210_000


@pytest.mark.parametrize(
    ("name", "event"),
    [*(("metropolis", event) for event in EVENTS), ("mala", (2,)), ("mala", (10,)), ("hmc", (1,)), ("hmc", (1, 4, 4))],
    ids=str,
)
def test_gaussians_are_stationary_at_every_temperature(name, event):
    """Random directions and the distance from the centre, in each replica, in all of them, and between neighbours."""
    d, temperatures = math.prod(event), (1.0, 1.6, 3.0)
    covariance = random_covariance(d, 0)
    module = Gaussian(mean=(1.0,) * d, covariance=rows(covariance), shape=event).build(event)
    factor = torch.linalg.cholesky(covariance)
    root = torch.tensor(temperatures).sqrt().view(-1, 1, 1)
    x = 1 + root * (torch.randn(3, DRAWS // 3, d, generator=generator(1)) @ factor.T)
    sampler, rng = ParallelTempering(sampler=INNER[name](d), temperatures=temperatures), generator(2)
    with frozen(module) as energy:
        state = sampler.begin(energy, x.view(3, -1, *event), rng)
        for _ in range(2):
            state, info = sampler.step(energy, state, rng)
    assert 0.1 < float(info.acceptance.mean()) < 0.9  # else nothing is tested
    moved = (state.replicas.x * state.unit).view(3, -1, d)
    torch.testing.assert_close(moved[0], state.x.flatten(1), rtol=0, atol=0)
    white = torch.linalg.solve_triangular(factor, ((moved - 1) / root).transpose(1, 2), upper=False).transpose(1, 2)
    v, w = torch.nn.functional.normalize(torch.randn(2, d, generator=generator(3)), dim=1)
    half = torch.tensor(d / 2)

    def chi_square(q):
        return torch.special.gammainc(half.expand_as(q), q / 2)

    everywhere = white.flatten(0, 1)
    assert_follows(
        [
            *((z @ v, normal_cdf) for z in white),
            *((z.square().sum(1), chi_square) for z in white),
            *(((white[r] + white[r + 1]) @ w / math.sqrt(2), normal_cdf) for r in range(2)),
            (everywhere @ w, normal_cdf),
            (everywhere.square().sum(1), chi_square),
        ]
    )


class Table:
    """A law on a line by quadrature: draws by its inverse distribution function, and the function itself."""

    def __init__(self, module, temperature):
        self.x = torch.linspace(-60, 60, 400_001)
        with torch.no_grad():
            mass = (-module(self.x.unsqueeze(1)) / temperature).softmax(0)
        self.cdf = mass.cumsum(0) - mass / 2

    def draw(self, n, rng):
        u = torch.rand(n, generator=rng)
        above = torch.searchsorted(self.cdf, u).clamp(1, len(self.x) - 1)
        low, high = self.cdf[above - 1], self.cdf[above]
        return torch.lerp(self.x[above - 1], self.x[above], ((u - low) / (high - low).clamp(min=1e-300)).clamp(0, 1))

    def __call__(self, t):
        above = torch.searchsorted(self.x, t).clamp(1, len(self.x) - 1)
        share = (t - self.x[above - 1]) / (self.x[above] - self.x[above - 1])
        return torch.lerp(self.cdf[above - 1], self.cdf[above], share)


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_a_mixture_is_stationary_at_every_temperature(inner):
    """Heated, it is no mixture and has no scale: units that change with the temperature have to be paid for."""
    module = GaussianMixture(means=((-2.0,), (4.0,)), covariances=(1.0, 4.0), weights=(0.6, 0.4)).build((1,))
    temperatures = (1.0, 2.0, 5.0)
    tables = [Table(module, temperature) for temperature in temperatures]
    x = torch.stack([table.draw(DRAWS, generator(r)) for r, table in enumerate(tables)]).unsqueeze(2)
    sampler, rng = ParallelTempering(sampler=inner(1), temperatures=temperatures), generator(9)
    with frozen(module) as energy:
        state = sampler.begin(energy, x, rng)
        for _ in range(2):
            state, _ = sampler.step(energy, state, rng)
    moved = (state.replicas.x * state.unit).view(3, -1)
    assert_follows(list(zip(moved, tables, strict=True)))


@pytest.mark.parametrize(
    ("inner", "values"), [(Gibbs(steps=1), "spin"), (GibbsWithGradients(steps=3), "binary")], ids=["gibbs", "gradients"]
)
def test_units_follow_the_table_at_every_temperature(inner, values):
    """Image-shaped states of six units, by chi-square."""
    event, temperatures = (1, 2, 3), (1.0, 1.8, 4.0)
    module = Ising(shape=event, coupling=0.6, field=tuple(torch.linspace(-0.5, 0.9, 6).tolist()), values=values)
    module = module.build(event)
    states = every_state(event, module.unit_values)
    pi = laws(module, states, temperatures)
    start = torch.stack([torch.multinomial(law, DRAWS // 3, True, generator=generator(r)) for r, law in enumerate(pi)])
    sampler, rng = ParallelTempering(sampler=inner, temperatures=temperatures), generator(5)
    with frozen(module) as energy:
        state = sampler.begin(energy, states[start], rng)
        for _ in range(2):
            state, _ = sampler.step(energy, state, rng)
    assert torch.equal(state.unit, torch.ones_like(state.unit))
    found = number(state.replicas.x, states).view(3, -1)
    for r in range(3):
        expected = pi[r] * found.shape[1]
        counts = found[r].bincount(minlength=len(states))
        statistic = ((counts - expected).square() / expected).sum()
        p = torch.special.gammaincc(torch.tensor((len(states) - 1) / 2), statistic / 2)
        assert float(p) > 1e-6 / 3, (r, float(p))


@pytest.mark.parametrize("ratio", [1.5, 3.0, 10.0])
def test_exchanges_are_accepted_as_often_as_the_closed_form_says(ratio):
    """2 P(E_cold > E_hot); energies are T times Gamma(d/2), so that it is 2 / (1 + ratio) in two dimensions."""
    n, temperatures = DRAWS // 3, (1.0, ratio, ratio**2)
    sampler = ParallelTempering(sampler=Still(), temperatures=temperatures)
    for d, exact in ((2, 2 / (1 + ratio)), (1, 2 - 4 / math.pi * math.asin(math.sqrt(ratio / (1 + ratio))))):
        x = torch.tensor(temperatures).sqrt().view(-1, 1, 1) * torch.randn(3, n, d, generator=generator(0))
        energy = Energy(Gaussian(mean=(0.0,) * d).build((d,)))
        _, info = sampler.step(energy, sampler.begin(energy, x, generator(1)), generator(2))
        assert abs(float(info.acceptance.mean()) - exact) < 5.5 * math.sqrt(exact * (1 - exact) / n)  # 4e-8


# Far modes ------------------------------------------------------------------------------------------------------------

MIXTURE = GaussianMixture(means=((-5.0, -5.0), (5.0, 5.0)), covariances=(1.0, 1.0), weights=(0.2, 0.8))


def share(sampler):
    """Of 1500 chains that began around the origin, those that end in the larger mode."""
    x = torch.randn(1_500, 2, generator=generator(0))
    return float((run_chain(sampler, MIXTURE.build((2,)), x, generator(1)).x.sum(1) > 0).double().mean())


def test_langevin_loses_the_weights_of_far_modes():
    assert abs(share(Langevin(steps=500, step_size=0.1)) - 0.5) < 0.1


@pytest.mark.parametrize(
    "inner", [Metropolis(steps=10, scale=1.7), Langevin(steps=10, step_size=0.1)], ids=["metropolis", "langevin"]
)
def test_parallel_tempering_keeps_them(inner):
    """A share of 1500 is off by 0.05 with a probability of 1e-6."""
    sampler = ParallelTempering(steps=100, sampler=inner, temperatures=(1.0, 3.0, 9.0, 27.0))
    assert abs(share(sampler) - 0.8) < 0.05
