"""`gibbs` and `gibbs_with_gradients`, proved: transition matrices by enumeration, then chi-square of real chains."""

import math
from itertools import product

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.ising import Ising
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.maths.two_valued import draw_values
from tests.statistics.transitions import (
    Dice,
    Uniform,
    balance_error,
    every_state,
    number,
    outcomes,
    rows,
    stationary_error,
    transition_matrix,
)

#: What rounding may leave of an equality between probabilities.
EXACT = 1e-12

FALSE_ALARM = 1e-6

LOW_HIGH = {"binary": (0.0, 1.0), "spin": (-1.0, 1.0)}


def generator(seed):
    return torch.Generator().manual_seed(seed)


def machine(units, values, seed=0, shape=None):
    """A Boltzmann machine with all units connected, and biases."""
    rng = generator(seed)
    upper = torch.randn(units, units, generator=rng).triu(1)
    biases = torch.randn(units, generator=rng)
    rows = tuple(map(tuple, (upper + upper.T).tolist()))
    return Boltzmann(weights=rows, biases=tuple(biases.tolist()), shape=shape, values=values)


class Crooked(nn.Module):
    """An energy that is not linear in any unit, so that a gradient tells the gain of a flip roughly."""

    def __init__(self, units, values, seed=0):
        super().__init__()
        rng = generator(seed)
        self.unit_values = values
        self.first = nn.Parameter(torch.randn(units, 5, generator=rng))
        self.second = nn.Parameter(2 * torch.randn(5, generator=rng))

    def forward(self, x):
        return (x.flatten(1) @ self.first + 0.3).tanh() @ self.second + x.flatten(1).pow(3).sum(1) / 5


FIELD = tuple(torch.linspace(-0.4, 0.7, 9).tolist())
MODELS = {
    "one spin": machine(1, "spin"),
    "two units": machine(2, "binary"),
    "three spins": Boltzmann(weights=((0, -1, -1), (-1, 0, 2), (-1, 2, 0)), biases=(0, 1, 0), values="spin"),
    "four units": machine(4, "binary", 1),
    "image": machine(4, "spin", 2, (1, 2, 2)),
    "lattice": Ising(shape=(3, 3), coupling=0.5, field=FIELD),
    "torus": Ising(shape=(3, 3), coupling=-0.4, field=FIELD, periodic=True, values="binary"),
}
#: 512 states take seconds, so that each way of sweeping has them once.
NINE = ("lattice", "torus")
SMALL = {name: model for name, model in MODELS.items() if math.prod(model.event()) <= 3}


def built(model):
    """The module, all its states, and their exact law."""
    module = model.build(model.event())
    states = every_state(model.event(), LOW_HIGH[model.traits().space])
    return module, states


def law(module, states, temperature=1.0):
    with torch.no_grad():
        return (-module(states) / temperature).softmax(0)


def single(pi, units, unit):
    """The textbook's kernel that draws one unit anew: between two states that differ in it, by their shares."""
    P = torch.zeros(len(pi), len(pi))
    for a in range(len(pi)):
        b = a ^ (1 << (units - 1 - unit))
        P[a, b] = pi[b] / (pi[a] + pi[b])
        P[a, a] = pi[a] / (pi[a] + pi[b])
    return P


# Gibbs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "temperature"),
    [
        *product([name for name in MODELS if name not in NINE], [1.0, 1.7]),
        pytest.param("lattice", 1.7, marks=pytest.mark.long),
    ],
)
def test_a_fixed_sweep_is_the_product_of_its_draws(name, temperature):
    module, states = built(MODELS[name])
    pi, units = law(module, states, temperature), states[0].numel()
    P = transition_matrix(Gibbs(scan="fixed", temperature=temperature), module, states)
    assert stationary_error(P, pi) < EXACT
    expected = torch.eye(len(pi))
    for unit in range(units):
        expected = expected @ single(pi, units, unit)
    torch.testing.assert_close(P, expected, rtol=0, atol=EXACT)
    assert (balance_error(P, pi) < EXACT) == (units == 1)  # in order is not in reverse order


@pytest.mark.parametrize("name", [name for name in MODELS if name != "lattice"])
def test_a_sweep_by_blocks_draws_all_units_in_their_order(name):
    module, states = built(MODELS[name])
    pi, units = law(module, states), states[0].numel()
    P = transition_matrix(Gibbs(scan="block"), module, states)
    assert stationary_error(P, pi) < EXACT
    expected = torch.eye(len(pi))
    for unit in torch.cat(module.blocks()).tolist():
        expected = expected @ single(pi, units, unit)
    torch.testing.assert_close(P, expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("name", SMALL)
def test_a_random_sweep_is_reversible(name, temperature):
    module, states = built(SMALL[name])
    pi, units = law(module, states, temperature), states[0].numel()
    P = transition_matrix(Gibbs(scan="random", temperature=temperature), module, states)
    assert stationary_error(P, pi) < EXACT
    assert balance_error(P, pi) < EXACT
    one = torch.stack([single(pi, units, unit) for unit in range(units)]).mean(0)
    torch.testing.assert_close(P, torch.linalg.matrix_power(one, units), rtol=0, atol=EXACT)


# Gibbs with gradients -------------------------------------------------------------------------------------------------

CROOKED = {
    "crooked spins": ((5,), "spin"),
    "crooked units": ((6,), "binary"),
    "crooked image": ((2, 2, 2), "spin"),
    "crooked nine": ((9,), "binary"),
}


def target(name):
    if name in MODELS:
        return built(MODELS[name])
    event, values = CROOKED[name]
    return Crooked(math.prod(event), LOW_HIGH[values]), every_state(event, LOW_HIGH[values])


def informed(module, states, temperature):
    """The kernel of arXiv:2102.04509 from its equations, a state and a flip at a time."""
    low, high = module.unit_values
    x = states.clone().requires_grad_()
    (slope,) = torch.autograd.grad(-module(x).sum() / temperature, x)
    f, slope, flat = (-module(states) / temperature).tolist(), slope.flatten(1).tolist(), states.flatten(1).tolist()
    units = len(flat[0])

    def q(a):
        gain = [slope[a][i] * ((high if flat[a][i] == low else low) - flat[a][i]) for i in range(units)]
        total = sum(math.exp(d / 2) for d in gain)
        return [math.exp(d / 2) / total for d in gain]

    P = torch.zeros(len(f), len(f))
    for a, i in product(range(len(f)), range(units)):
        b = a ^ (1 << (units - 1 - i))
        P[a, b] = q(a)[i] * min(1.0, math.exp(f[b] - f[a]) * q(b)[i] / q(a)[i])
    return P + torch.diag(1 - P.sum(1))


@pytest.mark.parametrize("temperature", [1.0, 2.3])
@pytest.mark.parametrize("name", [*MODELS, *CROOKED])
def test_gradients_propose_and_energies_decide(name, temperature):
    module, states = target(name)
    pi = law(module, states, temperature)
    P = transition_matrix(GibbsWithGradients(temperature=temperature), module, states)
    assert stationary_error(P, pi) < EXACT
    assert balance_error(P, pi) < EXACT
    if len(pi) <= 64:
        torch.testing.assert_close(P, informed(module, states, temperature), rtol=0, atol=EXACT)
    assert 0.01 < float((pi * (1 - P.diagonal())).sum()) <= 1  # it moves


def test_what_is_cached_is_that_of_where_the_chain_stands():
    """Two steps are the square of one: energy and gradient go along with accepted and with refused proposals."""
    module, states = target("crooked spins")
    once = transition_matrix(GibbsWithGradients(), module, states)
    twice = transition_matrix(GibbsWithGradients(), module, states, steps=2)
    torch.testing.assert_close(twice, once @ once, rtol=0, atol=EXACT)


class Holed(Crooked):
    """Without a finite energy, or without a finite gradient, where the first two units are high."""

    def __init__(self, units, values, where, wrong):
        super().__init__(units, values)
        self.where, self.wrong = where, wrong

    def forward(self, x):
        return self.energy_and_grad(x)[0]

    def energy_and_grad(self, x):
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            energy = Crooked.forward(self, point)
            (gradient,) = torch.autograd.grad(energy.sum(), point)
        hole = (x[:, 0] == self.unit_values[1]) & (x[:, 1] == self.unit_values[1])
        if self.where == "energy":
            return torch.where(hole, self.wrong, energy.detach()), gradient
        return energy.detach(), torch.where(hole.unsqueeze(1), self.wrong, gradient)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["energy", "gradient"])
def test_proposals_without_a_finite_energy_are_refused_and_counted(where, wrong):
    """What remains is the law on the other states; chains do not leave them."""
    states = every_state(4, (0.0, 1.0))
    module = Holed(4, (0.0, 1.0), where, wrong)
    open_ = ~((states[:, 0] == 1) & (states[:, 1] == 1))
    P = transition_matrix(GibbsWithGradients(), module, states[open_])
    pi = law(module, states[open_])
    assert balance_error(P, pi) < EXACT
    with frozen(module) as energy:
        sampler, x = GibbsWithGradients(), states[open_].repeat(200, 1)
        before = sampler.init(energy, x, generator(0))
        after, info = sampler.step(energy, before, generator(0))
    stuck = info.divergence == 1
    assert 0 < int(stuck.sum()) < len(x)
    assert torch.equal(after.x[stuck], x[stuck])
    assert info.acceptance[stuck].tolist() == [0.0] * int(stuck.sum())
    assert bool(((info.acceptance >= 0) & (info.acceptance <= 1)).all())


SAMPLERS = {
    "block": Gibbs(),
    "fixed": Gibbs(scan="fixed"),
    "random": Gibbs(scan="random"),
    "gradients": GibbsWithGradients(),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_come_from_everywhere_to_everywhere(name):
    """Powers of the matrix forget where they began: nothing is stationary but the target."""
    module, states = built(MODELS["three spins"])
    P = transition_matrix(SAMPLERS[name], module, states)
    far = torch.linalg.matrix_power(P, 100_000)
    torch.testing.assert_close(far, law(module, states).expand_as(far), rtol=0, atol=1e-9)


# Real random numbers --------------------------------------------------------------------------------------------------


def assert_counts(x, states, pi, comparisons=1):
    """Pearson's chi-square, where states that are expected fewer than ten times are one."""
    counts = torch.bincount(number(x, states), minlength=len(pi)).double()
    rare = pi * len(x) < 10
    if bool(rare.any()):
        counts = torch.cat([counts[~rare], counts[rare].sum(0, keepdim=True)])
        pi = torch.cat([pi[~rare], pi[rare].sum(0, keepdim=True)])
    statistic = ((counts - len(x) * pi) ** 2 / (len(x) * pi)).sum()
    p_value = float(torch.special.gammaincc(torch.tensor((len(pi) - 1) / 2), statistic / 2))
    assert p_value > FALSE_ALARM / comparisons, (p_value, counts.tolist(), (len(x) * pi).tolist())


CHAINS = 20_000


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(("name", "temperature"), [("two units", 1.0), ("image", 1.5), ("torus", 1.0)])
def test_chains_that_begin_in_the_target_stay_in_it(name, sampler, temperature):
    module, states = built(MODELS[name])
    pi = law(module, states, temperature)
    x = states[torch.multinomial(pi, CHAINS, replacement=True, generator=generator(1))]
    parameters = {"steps": 3 if sampler != "gradients" else 10, "temperature": temperature}
    made = type(SAMPLERS[sampler])(**{**vars(SAMPLERS[sampler]), **parameters})
    assert_counts(run_chain(made, module, x, generator(2)).x, states, pi, comparisons=12)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_that_begin_elsewhere_reach_it(sampler):
    module, states = built(MODELS["four units"])
    steps = 60 if sampler != "gradients" else 300
    made = type(SAMPLERS[sampler])(**{**vars(SAMPLERS[sampler]), "steps": steps})
    x = run_chain(made, module, states[:1].repeat(CHAINS, 1), generator(3)).x
    assert_counts(x, states, law(module, states), comparisons=len(SAMPLERS))


@pytest.mark.parametrize("name", MODELS)
def test_exact_draws_have_the_law_of_the_table(name):
    module, states = built(MODELS[name])
    x = run_chain(Exact(), module, states[:1].repeat(CHAINS, *[1] * (states.dim() - 1)), generator(4)).x
    assert_counts(x, states, law(module, states), comparisons=len(MODELS))


# The same for others --------------------------------------------------------------------------------------------------


def test_replicas_on_a_tiny_target():
    """All states of two replicas of one spin, from one at a time."""
    module, states = built(MODELS["one spin"])
    sampler = ParallelTempering(sampler=Gibbs(steps=2), temperatures=(1.0, 3.0))
    joint = list(product(range(len(states)), repeat=2))

    def run(start, rng):
        with frozen(module) as energy:
            x = torch.stack([states[k] for k in start]).unsqueeze(1)
            state, _ = sampler.step(energy, sampler.begin(energy, x, rng), rng)
        cold, hot = number(state.replicas.x, states)
        return (cold * len(states) + hot).view(1)

    P = torch.cat([rows(lambda rng, start=start: run(start, rng), chains=1, states=len(joint)) for start in joint])
    pi = torch.outer(law(module, states), law(module, states, 3.0)).flatten()
    assert stationary_error(P, pi) < EXACT
    assert balance_error(P, pi) < EXACT


def test_a_walk_on_a_few_numbers():
    """Proposals of one step up or down, in the place of normal ones. Beyond the ends the energy is infinite."""

    class Steps(nn.Module):
        heights = torch.tensor([0.3, -1.0, 2.0, 0.5, -0.7])

        def forward(self, x):
            inside = (x[:, 0] >= 0) & (x[:, 0] < 5)
            return torch.where(inside, self.heights[x[:, 0].clamp(0, 4).long()], torch.inf)

    states = torch.arange(5.0).unsqueeze(1)
    P = transition_matrix(Metropolis(scale=1.0), Steps(), states, normal=[(-1.0, 0.5), (1.0, 0.5)])
    pi = law(Steps(), states)
    assert balance_error(P, pi) < EXACT
    assert float(P.diagonal(1).min()) > 0


# The method itself ----------------------------------------------------------------------------------------------------


def planted(right, **wrong):
    """A sampler with some of its pieces replaced."""
    return type("Planted", (type(right),), wrong)(**vars(right))


class Doubled(nn.Module):
    """Log odds of spins that forget that a spin goes by two."""

    def __init__(self, module):
        super().__init__()
        self.module, self.unit_values = module, module.unit_values

    def forward(self, x):
        return self.module(x)

    def log_odds(self, x, sites):
        return self.module.log_odds(x, sites) / 2

    def blocks(self):
        return self.module.blocks()

    def draw_units(self, units, sites, temperature, rng):
        return draw_values(self.log_odds(units, sites) / temperature, self.unit_values, rng)


class AtOnce(Doubled):
    """Blocks of units that act on each other."""

    def log_odds(self, x, sites):
        return self.module.log_odds(x, sites)

    def blocks(self):
        return [torch.arange(sum(len(block) for block in self.module.blocks()))]


class Upside(AtOnce):
    def log_odds(self, x, sites):
        return -self.module.log_odds(x, sites)

    def blocks(self):
        return self.module.blocks()


def cold(self, energy, state, rng):
    """The temperature is applied twice."""
    return Gibbs.step(self, energy.at(torch.full((len(state.x),), self.temperature)), state, rng)


def without_hastings(self, x, gradient, both):
    """Proposes right, and takes all proposals for equally likely."""
    log_q = GibbsWithGradients._log_q(self, x, gradient, both)
    looked = getattr(type(self), "looked", 0)
    type(self).looked = looked + 1
    return log_q if looked % 2 == 0 else torch.zeros_like(log_q)


def stale(self, energy, state, rng):
    """The gradient stays where it was when the chain moved."""
    moved, info = GibbsWithGradients.step(self, energy, state, rng)
    return moved._replace(gradient=state.gradient), info


def stale_energy(self, energy, state, rng):
    moved, info = GibbsWithGradients.step(self, energy, state, rng)
    return moved._replace(energy=state.energy), info


def skips_the_last(self, model, units, rng):
    return model.blocks()[:-1]


#: Two thirds of a sweep still keep the law, so that one is not seen by stationarity, but by the powers of the matrix.
WRONG = {
    "half the log odds": (Gibbs(), Doubled),
    "coupled units at once": (Gibbs(), AtOnce),
    "upside down": (Gibbs(), Upside),
    "temperature twice": (planted(Gibbs(scan="fixed", temperature=1.7), step=cold), None),
    "no Hastings term": (planted(GibbsWithGradients(), _log_q=without_hastings), None),
    "gradient left behind": (planted(GibbsWithGradients(), step=stale), None),
    "energy left behind": (planted(GibbsWithGradients(), step=stale_energy), None),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_seen(name):
    sampler, around = WRONG[name]
    module, states = built(MODELS["three spins"])
    steps = 2 if "behind" in name else 1
    P = transition_matrix(sampler, around(module) if around else module, states, steps=steps)
    torch.testing.assert_close(P.sum(1), torch.ones(len(P)))
    pi = law(module, states, sampler.temperature)
    assert stationary_error(P, pi) > 1e-4


def test_a_unit_that_is_never_drawn_is_seen():
    module, states = built(MODELS["three spins"])
    P = transition_matrix(planted(Gibbs(), _sweep=skips_the_last), module, states)
    assert stationary_error(P, law(module, states)) < EXACT
    far = torch.linalg.matrix_power(P, 100_000)
    assert float((far - law(module, states)).abs().max()) > 0.1


def test_a_step_to_somewhere_else_is_refused():
    module, states = built(MODELS["two units"])
    with pytest.raises(AssertionError, match="none of the states"):
        transition_matrix(Gibbs(), module, states[:3])


def test_a_draw_that_is_not_scripted_is_refused():
    with pytest.raises(AssertionError, match="not scripted"):
        rows(lambda rng: torch.zeros(3).exponential_(generator=rng).long(), chains=3, states=1)
    with pytest.raises(AssertionError, match="not scripted"):
        rows(lambda rng: torch.randperm(3), chains=3, states=3)
    with pytest.raises(AssertionError, match="needs a law"):
        rows(lambda rng: torch.zeros(3).normal_(generator=rng).long(), chains=3, states=3)


def test_a_number_cannot_be_compared_twice():
    u = Uniform(Dice([], 2, ()), torch.zeros(2))
    assert (u < torch.tensor([0.5, 0.25])).tolist() == [False, False]
    with pytest.raises(AttributeError):
        assert u < 0.5


def test_every_outcome_is_gone_through_once():
    def run(rng):
        a = torch.zeros(2).uniform_(generator=rng) < torch.tensor([0.25, 0.5])
        b = torch.randint(3, (2, 1), generator=rng)
        return 3 * a + b[:, 0]

    found = list(outcomes(run, 2))
    assert len(found) == 6
    torch.testing.assert_close(sum(p for _, p in found), torch.ones(2))
    P = rows(run, chains=2, states=6)
    torch.testing.assert_close(P, torch.tensor([[0.25] * 3 + [1 / 12] * 3, [1 / 6] * 6]))


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
