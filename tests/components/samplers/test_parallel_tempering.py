"""`parallel_tempering`: what it refuses, what it reports, and what its replicas are moved by."""

import math

import pytest
import torch
from torch import nn

from ebmkit.api import Sampler, StepInfo, component
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.nuts import NUTS
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.components.samplers.underdamped_langevin import UnderdampedLangevin
from tests.chains.long_chains import run_chains
from tests.components.oracles import EVENTS, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)

TEMPERATURES = (1.0, 2.0, 5.0, 9.0)


class Counted(nn.Module):
    """An energy whose coordinates differ, and for how many states it was asked."""

    asked = 0

    def forward(self, x):
        self.asked += len(x)
        weights = torch.linspace(0.5, 1.5, x[0].numel(), dtype=x.dtype)
        return (x.flatten(1).square() * weights).sum(1) / 2 + x.flatten(1).sum(1).cos()


# What it says of itself -----------------------------------------------------------------------------------------------


@component("conditioned")
class Conditioned(Sampler):
    conditioning = "sigma"
    steps: int = 1

    def init(self, energy, x, rng): ...

    def step(self, energy, state, rng): ...


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"temperatures": (2.0, 3.0)}, "'temperatures' must start at 1, not 2.0"),
        ({"temperatures": (0.5, 1.0)}, "'temperatures' must start at 1, not 0.5"),
        ({"temperatures": (1.0, 3.0, 2.0)}, "'temperatures' must increase, but 2.0 follows 3.0"),
        ({"temperatures": (1.0, 1.0)}, "'temperatures' must increase, but 1.0 follows 1.0"),
        ({"sampler": Exact()}, "sampler 'exact' needs 'sample_exact', which is not defined at other temperatures"),
        ({"sampler": ParallelTempering()}, "is itself parallel tempering"),
        ({"sampler": Conditioned()}, "sampler 'conditioned' passes a sigma to the model"),
        ({"sampler": Langevin(temperature=2.0)}, "sampler 'langevin' sets its own 'temperature'"),
        ({"sampler": Langevin(noise_std=0.1)}, "sampler 'langevin' has a 'noise_std'"),
        ({"sampler": Langevin(clamp=(0.0, 1.0))}, "sampler 'langevin' has a 'clamp'"),
        ({"sampler": Metropolis(center=0.0)}, "sampler 'metropolis' has a 'center'"),
        ({"sampler": Gibbs(temperature=0.5)}, "sampler 'gibbs' sets its own 'temperature'"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_makes_no_sense_is_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        ParallelTempering(**parameters)


def test_what_it_works_on_follows_from_the_inner_sampler():
    real, flips = ParallelTempering(), ParallelTempering(sampler=Gibbs())
    assert (real.traits().spaces, real.traits().needs) == ({"real"}, {"energy"})
    assert (flips.traits().spaces, flips.traits().needs) == (Gibbs().traits().spaces, {"energy", "blocks"})
    assert ParallelTempering(sampler=Langevin()).traits().needs == {"energy", "gradient"}
    assert real.traits().traces == {"energy", "acceptance", "divergence"}
    assert ParallelTempering(sampler=MALA()).traits().traces == {"energy", "gradient_norm", "acceptance", "divergence"}
    assert (
        ParallelTempering(sampler=NUTS(steps=3, max_depth=5)).traits().host_syncs
        == 3 * NUTS(max_depth=5).traits().host_syncs
    )
    assert real.tunes() == frozenset()


# What moves the replicas ----------------------------------------------------------------------------------------------


@component("watched")
class Watched(Sampler):
    """Moves nothing, and keeps what it was given."""

    spaces = frozenset({"real"})
    steps: int = 1

    def init(self, energy, x, rng):
        return Langevin().init(energy, x, rng)

    def step(self, energy, state, rng):
        seen.append((state.x.clone(), energy(state.x), *energy.value_and_grad(state.x)))
        return state, StepInfo()


seen = []


@shapes
def test_every_replica_has_the_energy_of_its_temperature(event):
    """`y = x / sqrt(T)` has the energy `E(sqrt(T) y) / T`, row by row, and its gradient."""
    seen.clear()
    module, count, chains = Counted(), len(TEMPERATURES), 6
    x = torch.randn(count, chains, *event, generator=generator(0))
    sampler, energy = ParallelTempering(sampler=Watched(), temperatures=TEMPERATURES), Energy(module)
    sampler.step(energy, sampler.begin(energy, x, generator(1)), generator(1))
    ((y, height, also_height, gradient),) = seen
    for r, temperature in enumerate(TEMPERATURES):
        for b in range(chains):
            row, point = r * chains + b, (x[r, b : b + 1] / math.sqrt(temperature)).requires_grad_()
            expected = module(math.sqrt(temperature) * point) / temperature
            (slope,) = torch.autograd.grad(expected.sum(), point)
            torch.testing.assert_close(y[row], point[0].detach())
            torch.testing.assert_close(height[row], expected[0].detach())
            torch.testing.assert_close(also_height[row], expected[0].detach())
            torch.testing.assert_close(gradient[row], slope[0])


@shapes
def test_langevin_inside_is_langevin_at_every_temperature(event):
    """`x' = x - step_size dE/dx + sqrt(2 step_size T) xi`: in units of its own the drift is the same at all T."""
    module, step_size = Counted(), 0.05
    x = torch.randn(4, 30, *event, generator=generator(0))
    sampler, energy = (
        ParallelTempering(sampler=Langevin(steps=1, step_size=step_size), temperatures=TEMPERATURES),
        Energy(module),
    )
    rng = generator(1)
    moved = _replicas(sampler._move(*_heated(sampler, energy, x, rng), 1, rng)[0], sampler, x)
    noise = torch.randn(120, *event, generator=generator(1)).view_as(x)
    for r, temperature in enumerate(TEMPERATURES):
        _, gradient = energy.value_and_grad(x[r])
        expected = x[r] - step_size * gradient + math.sqrt(2 * step_size * temperature) * noise[r]
        torch.testing.assert_close(moved[r], expected)


@shapes
def test_metropolis_inside_walks_further_at_higher_temperatures(event):
    """Where nothing is refused, steps are `scale sqrt(T)` wide."""

    class Flat(nn.Module):
        def forward(self, x):
            return x.flatten(1).sum(1) * 0

    x = torch.zeros(4, 30, *event)
    sampler, energy = (
        ParallelTempering(sampler=Metropolis(steps=1, scale=0.3), temperatures=TEMPERATURES),
        Energy(Flat()),
    )
    rng = generator(1)
    moved = _replicas(sampler._move(*_heated(sampler, energy, x, rng), 1, rng)[0], sampler, x)
    noise = torch.randn(120, *event, generator=generator(1)).view_as(x)
    roots = torch.tensor(TEMPERATURES).sqrt().view(-1, *[1] * (x.dim() - 1))
    torch.testing.assert_close(moved, 0.3 * roots * noise)


def _heated(sampler, energy, x, rng):
    state = sampler.begin(energy, x, rng)
    return sampler._heated(energy, state.temperature, state.unit), state.replicas


def _replicas(state, sampler, x):
    roots = torch.tensor(sampler.temperatures).sqrt().view(-1, *[1] * (x.dim() - 1))
    return state.x.view_as(x) * roots


@shapes
@pytest.mark.parametrize(
    "inner", [Metropolis(steps=3), MALA(steps=2), HMC(steps=1), NUTS(steps=1, max_depth=2)], ids=str
)
def test_what_replicas_remember_is_of_where_they_stand(event, inner):
    """Energies and gradients in the inner state are those of its rows, whoever was exchanged."""
    sampler, energy, rng = ParallelTempering(sampler=inner, temperatures=TEMPERATURES), Energy(Counted()), generator(1)
    state = sampler.init(energy, torch.randn(50, *event, generator=generator(0)), rng)
    for _ in range(5):
        state, _ = sampler.step(energy, state, rng)
        height, gradient = energy.value_and_grad(state.replicas.x * state.unit)
        torch.testing.assert_close(state.replicas.energy, height / state.temperature)
        if "gradient" in inner.traits().needs:
            torch.testing.assert_close(state.replicas.gradient, gradient / state.unit)
        torch.testing.assert_close(state.x, state.replicas.x[:50], rtol=0, atol=0)


@pytest.mark.parametrize(
    "inner",
    [
        Metropolis(steps=2),
        Langevin(steps=2),
        UnderdampedLangevin(steps=2),
        MALA(steps=2),
        HMC(steps=2),
        NUTS(steps=2),
    ],
    ids=lambda inner: inner.component_name,
)
@shapes
def test_any_inner_sampler_runs(event, inner):
    module = MLP(hidden=(8,)).build(event)
    sampler = ParallelTempering(steps=3, sampler=inner)
    chain = run_chain(sampler, module, torch.randn(7, *event, generator=generator(0)), generator(1), traces=True)
    assert chain.x.shape == (7, *event)
    assert bool(chain.x.isfinite().all())
    assert set(chain.traces) == sampler.traits().traces


# What it reports ------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("inner", [Metropolis(steps=3), MALA(steps=4), Langevin(steps=1)], ids=str)
def test_energies_are_those_of_the_cold_chains_where_the_step_began(event, inner):
    sampler, energy, rng = ParallelTempering(sampler=inner, temperatures=TEMPERATURES), Energy(Counted()), generator(1)
    state = sampler.init(energy, torch.randn(20, *event, generator=generator(0)), rng)
    for _ in range(3):
        height, gradient = energy.value_and_grad(state.x)
        state, info = sampler.step(energy, state, rng)
        torch.testing.assert_close(info.energy, height)
        if info.gradient is not None:
            torch.testing.assert_close(info.gradient, gradient)


def test_the_acceptance_is_that_of_the_exchanges_tried():
    """Two pairs of four replicas, or the one between them; two replicas are one pair, tried in every step."""
    module = Gaussian(mean=(0.0,)).build((1,))
    at = torch.tensor([1.0, 2.0, 0.5, 3.0])  # of energies 0.5, 2, 0.125, 4.5

    def of(*energies, low, high):
        return min(1.0, math.exp((1 / low - 1 / high) * (energies[0] - energies[1])))

    first = (of(0.5, 2.0, low=1, high=2) + of(0.125, 4.5, low=5, high=9)) / 2
    second = of(2.0, 0.125, low=2, high=5)
    sampler, energy = ParallelTempering(sampler=Watched(), temperatures=TEMPERATURES), Energy(module)
    state = sampler.begin(energy, at.view(4, 1, 1).expand(4, 1000, 1), generator(0))
    _, info = sampler.step(energy, state, generator(1))
    coins = torch.isclose(info.acceptance, torch.tensor(first))
    assert bool((coins | torch.isclose(info.acceptance, torch.tensor(second))).all())
    assert 400 < int(coins.sum()) < 600
    pair = ParallelTempering(sampler=Watched(), temperatures=(1.0, 2.0))
    _, info = pair.step(energy, pair.begin(energy, at[:2].view(2, 1, 1).expand(2, 1000, 1), generator(0)), generator(1))
    torch.testing.assert_close(info.acceptance, torch.full((1000,), of(0.5, 2.0, low=1, high=2)))


class Walled(nn.Module):
    """A Gaussian on one side of a wall; behind it the energy is whatever the test says."""

    def __init__(self, behind):
        super().__init__()
        self.behind = behind

    def forward(self, x):
        return torch.where(x[:, 0] > 0, self.behind, x[:, 0].square() / 2)


@pytest.mark.parametrize("behind", [math.nan, math.inf, -math.inf])
def test_a_replica_without_a_finite_energy_is_not_exchanged_but_counted(behind):
    at = torch.tensor([[-1.0, 2.0, -1.0, -1.0], [2.0, -1.0, -1.5, 2.0], [-0.5, -1.0, -1.0, 2.0]]).unsqueeze(2)
    sampler, energy = ParallelTempering(sampler=Watched(), temperatures=(1.0, 2.0, 4.0)), Energy(Walled(behind))
    for seed in range(10):
        state, info = sampler.step(energy, sampler.begin(energy, at, generator(0)), generator(seed))
        stand = (state.replicas.x * state.unit).view(3, 4)
        torch.testing.assert_close(stand > 0, at[..., 0] > 0)
        assert info.divergence.tolist() == [1, 1, 0, 1]
        assert bool(info.acceptance.isfinite().all())


def test_divergences_of_any_replica_are_counted():
    """Behind the wall lies what only the hottest replica can reach in one move."""
    sampler = ParallelTempering(sampler=Metropolis(steps=2, scale=1e-3), temperatures=(1.0, 1e8))
    energy, rng = Energy(Walled(math.nan)), generator(0)
    state = sampler.init(energy, torch.full((200, 1), -2.0), rng)
    _, info = sampler.step(energy, state, rng)
    assert set(info.divergence.tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("inner", "calls"),
    [(Metropolis(steps=4), 4 + 1 + 1), (Langevin(steps=3), 3 + 1), (MALA(steps=5), 5 + 1 + 1)],
    ids=str,
)
def test_evaluations_are_those_of_all_replicas(inner, calls):
    """The inner sampler's, one to exchange, and one where it has to begin anew."""
    module, chains = Counted(), 3
    sampler, energy, rng = ParallelTempering(sampler=inner, temperatures=TEMPERATURES), Energy(module), generator(0)
    state = sampler.init(energy, torch.zeros(chains, 2), rng)
    before, asked = energy.evaluations, module.asked
    state, _ = sampler.step(energy, state, rng)
    assert energy.evaluations - before == 4 * calls
    assert module.asked - asked == 4 * calls * chains


def test_long_chains_keep_its_states():
    module = Gaussian(mean=(1.0, 0.0), covariance=rows(random_covariance(2, 0))).build((2,))
    sampler = ParallelTempering(sampler=Metropolis(steps=2), temperatures=(1.0, 2.0))
    draws = run_chains(sampler, module, torch.zeros(5, 2), generator(0), draws=10, thin=2, burn_in=3)
    assert draws.x.shape == (5, 10, 2)
    assert draws.evaluations == 10 * 2 * 2 * (2 + 1 + 1)
    torch.testing.assert_close(draws.seen["energy"], module(draws.x.view(-1, 2)).view(5, 10))


def test_discrete_states_stay_what_they_are():
    """No unit of sqrt(T): a spin is -1 or +1 at every temperature."""
    from ebmkit.components.models.ising import Ising

    module = Ising(shape=(3, 3)).build((3, 3))
    x = torch.ones(20, 3, 3)
    for inner in (Gibbs(steps=1), GibbsWithGradients(steps=5)):
        sampler, energy, rng = ParallelTempering(sampler=inner), Energy(module), generator(0)
        state, _ = sampler.step(energy, sampler.init(energy, x, rng), rng)
        assert set(state.replicas.x.flatten().tolist()) == {-1.0, 1.0}


def test_single_precision_stays_single():
    torch.set_default_dtype(torch.float32)
    module = Gaussian(mean=(0.0, 0.0)).build((2,))
    chain = run_chain(ParallelTempering(steps=2), module, torch.zeros(5, 2), generator(0), traces=True)
    assert {chain.x.dtype, *(trace.dtype for trace in chain.traces.values())} == {torch.float32}
