"""`hmc`: trajectories as the algorithm box writes them, masses, temperature and jitter. See also `statistics/`."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.hmc import HMC
from ebmkit.contracts.question import Question
from tests.components.oracles import EVENTS, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def network(event, scale=1.0):
    torch.manual_seed(0)
    return MLP(hidden=(8, 8), base_scale=scale).build(event)


@shapes
@pytest.mark.parametrize("dense", [False, True])
def test_one_step_is_the_algorithm(event, dense):
    """Xu's algorithm 2.2, with every half kick written out."""
    d, eps, T = math.prod(event), 0.3 * math.prod(event) ** -0.25, 1.7
    M = random_covariance(d, 2) if dense else torch.linspace(0.5, 2.0, d).diag()
    mass = rows(M) if dense else tuple(M.diagonal().tolist())
    module = network(event)
    x = torch.randn(300, *event, generator=generator(0))
    sampler = HMC(step_size=eps, leapfrog_steps=4, jitter=0.0, mass=mass, temperature=T)
    state, info = sampler.step(Energy(module), sampler.init(Energy(module), x, generator(1)), generator(1))

    rng, V = generator(1), torch.linalg.inv(M)
    v = math.sqrt(T) * torch.empty_like(x).normal_(generator=rng).flatten(1) @ torch.linalg.cholesky(M).T

    def slope(y):
        return Energy(module).value_and_grad(y.view(-1, *event))[1].flatten(1)

    def hamiltonian(y, v):
        return Energy(module)(y.view(-1, *event)) + (v @ V * v).sum(1) / 2

    y, w = x.flatten(1), v
    for _ in range(4):
        w = w - eps / 2 * slope(y)
        y = y + eps * w @ V
        w = w - eps / 2 * slope(y)
    expected = ((hamiltonian(x.flatten(1), v) - hamiltonian(y, w)) / T).exp().clamp(max=1)
    torch.testing.assert_close(info.acceptance, expected, rtol=1e-9, atol=1e-9)
    accepted = torch.empty_like(expected).uniform_(generator=rng) < expected
    torch.testing.assert_close(state.x.flatten(1), torch.where(accepted[:, None], y, x.flatten(1)))
    assert 0.1 < float(expected.mean()) < 0.999


@shapes
@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_one_gradient_a_leapfrog_step(event, jitter):
    """And what is carried belongs to where the chain stands, refused or not."""
    module = network(event, 0.5)
    energy, rng = Energy(module), generator(1)
    sampler = HMC(step_size=0.95 * math.prod(event) ** -0.2, leapfrog_steps=3, jitter=jitter)
    state = sampler.init(energy, torch.randn(200, *event, generator=generator(0)), rng)
    refused = 0
    for step in range(1, 11):
        before = state
        state, info = sampler.step(energy, state, rng)
        assert energy.evaluations == 1 + 3 * step
        assert info.energy is before.energy
        assert info.gradient is before.gradient
        height, gradient = Energy(module).value_and_grad(state.x)
        torch.testing.assert_close(state.energy, height)
        torch.testing.assert_close(state.gradient, gradient)
        refused += int((state.x == before.x).flatten(1).all(1).sum())
    assert 20 < refused < 1_980


@shapes
def test_a_mass_matrix_is_a_change_of_coordinates(event):
    """With M = R R', chains of x are those of y = R' x with unit mass."""
    d = math.prod(event)
    M = random_covariance(d, 5)
    R = torch.linalg.cholesky(M)
    module = network(event)

    class Turned(nn.Module):
        def forward(self, y):
            return module(torch.linalg.solve_triangular(R.T, y.flatten(1).T, upper=True).T.view(-1, *event))

    x = torch.randn(100, *event, generator=generator(0))
    y = (x.flatten(1) @ R).view_as(x)
    parameters = {"steps": 5, "step_size": 0.2, "leapfrog_steps": 3}
    chain = run_chain(HMC(mass=rows(M), **parameters), module, x, generator(1), traces=True)
    turned = run_chain(HMC(**parameters), Turned(), y, generator(1), traces=True)
    torch.testing.assert_close(chain.x.flatten(1) @ R, turned.x.flatten(1))
    torch.testing.assert_close(chain.traces["acceptance"], turned.traces["acceptance"])


@shapes
@pytest.mark.parametrize("temperature", [0.3, 4.0])
def test_a_temperature_is_a_change_of_energy_and_clock(event, temperature):
    """exp(-E/T) with steps of eps is exp(-E') with E' = E/T and steps of sqrt(T) eps."""
    module = network(event)

    class Cooled(nn.Module):
        def forward(self, x):
            return module(x) / temperature

    x = torch.randn(100, *event, generator=generator(0))
    parameters = {"steps": 5, "leapfrog_steps": 3}
    hot = run_chain(HMC(step_size=0.2, temperature=temperature, **parameters), module, x, generator(1), traces=True)
    clock = 0.2 * math.sqrt(temperature)
    cooled = run_chain(HMC(step_size=clock, **parameters), Cooled(), x, generator(1), traces=True)
    torch.testing.assert_close(hot.x, cooled.x)
    torch.testing.assert_close(hot.traces["acceptance"], cooled.traces["acceptance"])


class Flat(nn.Module):
    def forward(self, x):
        return 0 * x.flatten(1).sum(1)


@shapes
@pytest.mark.parametrize("jitter", [0.0, 0.4])
def test_jitter_is_of_every_chain_and_every_trajectory(event, jitter):
    """Where nothing pulls, x* - x = leapfrog_steps eps p."""
    x, rng = torch.zeros(1_000, *event), generator(3)
    sampler = HMC(step_size=0.5, leapfrog_steps=4, jitter=jitter)
    state = sampler.init(Energy(Flat()), x, rng)
    found = []
    for seed in (1, 2):
        p = torch.empty_like(x).normal_(generator=generator(seed))
        moved, info = sampler.step(Energy(Flat()), state, generator(seed))
        assert info.acceptance.tolist() == [1.0] * 1_000
        eps = (moved.x / (4 * p)).flatten(1)
        torch.testing.assert_close(eps, eps[:, :1].expand_as(eps))  # one for all coordinates
        found.append(eps[:, 0])
    assert float((torch.cat(found) - 0.5).abs().max()) <= 0.5 * jitter + 1e-9
    if jitter:
        assert float((found[0] - found[1]).abs().mean()) > 0.05
        spread = torch.cat(found).sort().values
        uniform = torch.linspace(0.3, 0.7, 2_000)
        assert float((spread - uniform).abs().max()) < 0.03


def test_without_jitter_chains_on_a_circle_come_back():
    """Half a turn in ten steps: every chain lands at -x, whatever its throw. Jitter breaks that."""
    module = Gaussian(mean=(0.0,), covariance=1.0).build((1,))
    x = torch.randn(500, 1, generator=generator(0))
    whole_turn = {"steps": 20, "leapfrog_steps": 20, "step_size": 2 * math.sin(math.pi / 20)}
    stuck = run_chain(HMC(jitter=0.0, **whole_turn), module, x, generator(1)).x
    torch.testing.assert_close(stuck, x, rtol=1e-9, atol=1e-9)
    free = run_chain(HMC(jitter=0.2, **whole_turn), module, x, generator(1)).x
    assert abs(float((free * x).mean())) < 0.3


def test_divergences_are_refused_and_counted():
    """One leapfrog step that is 40 times too long is off by 3e5, and infinitely far after some hundred."""
    module = Gaussian(mean=(0.0, 0.0), covariance=1.0).build((2,))
    x = torch.randn(300, 2, generator=generator(0))
    for leapfrog_steps in (2, 300):
        sampler = HMC(steps=3, step_size=40.0, leapfrog_steps=leapfrog_steps)
        chain = run_chain(sampler, module, x, generator(1), traces=True)
        assert chain.x.equal(x)
        assert chain.traces["acceptance"].tolist() == [0.0] * 3
        assert chain.traces["divergence"].tolist() == [1.0] * 3
    fine = run_chain(HMC(steps=3, step_size=0.1), module, x, generator(1), traces=True)
    assert fine.traces["divergence"].tolist() == [0.0] * 3


def test_how_far_off_a_divergence_is_goes_by_the_temperature():
    """At T = 1e4 an error of some thousands is nothing: to refuse it would not be exact."""
    module = Gaussian(mean=(0.0, 0.0), covariance=1.0).build((2,))
    x = 100 * torch.randn(2_000, 2, generator=generator(0))
    sampler = HMC(steps=1, step_size=1.9, leapfrog_steps=2, jitter=0.0, temperature=1e4)
    chain = run_chain(sampler, module, x, generator(1), traces=True)
    assert not bool(chain.last.divergence.any())
    error = -1e4 * chain.last.acceptance.log()
    assert bool(((error > 2_000) & error.isfinite()).any())


class Ravine(nn.Module):
    """Not a number on the right of 1, infinite on the left of -1."""

    def forward(self, x):
        first = x.flatten(1)[:, 0]
        inside = x.flatten(1).square().sum(1) / 2
        return torch.where(first > 1, torch.nan, torch.where(first < -1, torch.inf, inside))


def test_chains_leave_infinite_energies_and_are_stuck_at_nan():
    x = torch.tensor([[-1.1, 0.0], [2.0, 0.0], [0.0, 0.0]])
    chain = run_chain(HMC(steps=100, step_size=0.2, leapfrog_steps=3), Ravine(), x, generator(0), traces=True)
    assert abs(chain.x[0, 0].item()) <= 1
    assert chain.x[1].tolist() == [2.0, 0.0]  # not a number is never repaired
    assert (chain.last.acceptance[1].item(), chain.last.divergence[1].item()) == (0, 1)
    assert bool(chain.traces["acceptance"].isfinite().all())  # one bad chain does not spoil the mean of all


def test_a_warm_up_may_tune_what_the_spec_leaves_open():
    assert HMC().tunes() == {"step_size", "mass"}
    assert HMC(mass=(1.0, 2.0)).tunes() == {"step_size"}
    assert HMC().refusal(Question((3,), Gaussian())) is None
    assert (
        HMC(mass=(1.0, 2.0)).refusal(Question((1, 1, 3), Gaussian()))
        == "has a 'mass' of 2 coordinates, but a state has 3"
    )


@pytest.mark.parametrize("mass", [None, 2.0, (1.0, 3.0), ((2.0, 0.5), (0.5, 1.0))])
def test_single_precision_stays_single(mass):
    torch.set_default_dtype(torch.float32)
    module = Gaussian(mean=(0.0, 0.0)).build((2,))
    chain = run_chain(HMC(steps=2, mass=mass), module, torch.zeros(5, 2), generator(0), traces=True)
    assert {chain.x.dtype, *(trace.dtype for trace in chain.traces.values())} == {torch.float32}
