"""`nuts`: how far it goes, what it asks for, and what it does where there is no energy. Its law: `tests/statistics`."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.nuts import NUTS
from ebmkit.contracts.question import Question
from tests.components.oracles import EVENTS, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


class Flat(nn.Module):
    """Nothing ever turns."""

    def forward(self, x):
        return 0 * x.flatten(1).sum(1)


def steps_of(sampler, module, x, steps, seed=1):
    """The state behind every step, what it saw, and how many energies it asked for."""
    energy, rng = Energy(module), generator(seed)
    state = sampler.init(energy, x, rng)
    for _ in range(steps):
        before = energy.evaluations
        state, info = sampler.step(energy, state, rng)
        yield state, info, energy.evaluations - before


@shapes
@pytest.mark.parametrize("step_size", [0.05, 0.2, 0.5, 0.8, 0.9, 1.0])
def test_a_trajectory_is_between_half_a_turn_and_one(event, step_size):
    """All directions of this target have the period 2 pi. Missing a U-turn here would mean going on in circles."""
    module = Gaussian(mean=(0.0,) * math.prod(event), shape=event).build(event)
    x = torch.randn(500, *event, generator=generator(0))
    for _, _, asked in steps_of(NUTS(step_size=step_size), module, x, 5):
        assert math.pi / 2 < asked * step_size < 2 * math.pi + step_size


@shapes
@pytest.mark.parametrize("max_depth", [1, 2, 5])
def test_no_trajectory_is_longer_than_max_depth_allows(event, max_depth):
    x = torch.randn(20, *event, generator=generator(0))
    for state, info, asked in steps_of(NUTS(max_depth=max_depth), Flat(), x, 3):
        assert asked == 2**max_depth - 1
        assert info.acceptance.tolist() == [1.0] * 20
        assert info.divergence.tolist() == [0.0] * 20
        assert not bool((state.x == x).any())  # among equals the newer half is always moved to


def test_how_often_the_host_waits_follows_from_the_depth():
    assert (NUTS().traits().host_syncs, NUTS(max_depth=1).traits().host_syncs) == (9, 0)


@shapes
def test_energy_and_gradient_of_a_state_are_carried_along(event):
    module = Gaussian(mean=(1.0,) * math.prod(event), shape=event).build(event)
    x = torch.randn(50, *event, generator=generator(0))
    known = Energy(module).value_and_grad(x)
    for state, info, _ in steps_of(NUTS(step_size=0.9), module, x, 5):
        torch.testing.assert_close((info.energy, info.gradient), known)
        known = state.energy, state.gradient
        torch.testing.assert_close(known, Energy(module).value_and_grad(state.x))


class Stretched(nn.Module):
    """Another energy in coordinates z of `x = A z`."""

    def __init__(self, module, matrix):
        super().__init__()
        self.module, self.matrix = module, matrix

    def forward(self, z):
        return self.module((z.flatten(1) @ self.matrix.T).view_as(z))


@pytest.mark.parametrize("dense", [False, True], ids=["diagonal", "dense"])
def test_masses_are_a_change_of_coordinates(dense):
    """With M = R R', x = R^-T z moves as z does with masses of one: leapfrog, U-turns and acceptance know of no other
    coordinates than those in which all masses are one."""
    module = Banana().build((2,))
    mass = random_covariance(2, 3) if dense else torch.diag(torch.tensor([0.3, 2.0]))
    matrix = torch.linalg.cholesky(mass).inverse().T
    z = torch.randn(200, 2, generator=generator(0))
    plain = NUTS(step_size=0.4, steps=4)
    heavy = NUTS(step_size=0.4, steps=4, mass=rows(mass) if dense else tuple(mass.diagonal().tolist()))
    expected = run_chain(plain, Stretched(module, matrix), z, generator(1), traces=True)
    found = run_chain(heavy, module, z @ matrix.T, generator(1), traces=True)
    torch.testing.assert_close(found.x, expected.x @ matrix.T)
    torch.testing.assert_close(found.traces["acceptance"], expected.traces["acceptance"])


def test_temperature_is_a_unit_of_energy():
    """E at T with masses M is E / T at 1 with masses M / T, step by step."""
    hot = NUTS(step_size=0.5, steps=3, temperature=2.5, mass=1.0)
    cold = NUTS(step_size=0.5, steps=3, mass=1 / 2.5)
    module, x = Banana().build((2,)), torch.randn(200, 2, generator=generator(0))

    class Cooled(nn.Module):
        def forward(self, x):
            return module(x) / 2.5

    once, again = run_chain(hot, module, x, generator(1)), run_chain(cold, Cooled(), x, generator(1))
    torch.testing.assert_close(once.x, again.x)


class Edge(nn.Module):
    """A Gaussian in the middle; beyond, the energy is whatever the test says."""

    def __init__(self, beyond):
        super().__init__()
        self.beyond = beyond

    def forward(self, x):
        x = x.flatten(1)
        return torch.where(x[:, 0].abs() > 1, self.beyond, x.square().sum(1) / 2)


@shapes
@pytest.mark.parametrize("beyond", [math.nan, math.inf, -math.inf, 1e9])
def test_no_chain_moves_to_where_there_is_no_energy(event, beyond):
    """It is counted, and chains inside are none the worse for it."""
    x = torch.rand(300, *event, generator=generator(0)) - 0.5
    diverged = moved = 0.0
    for state, info, _ in steps_of(NUTS(step_size=0.3), Edge(beyond), x, 10):
        assert float(state.x.flatten(1)[:, 0].abs().max()) <= 1
        for value in (state.x, state.energy, state.gradient, info.acceptance):
            assert bool(value.isfinite().all())
        assert set(info.divergence.tolist()) <= {0.0, 1.0}
        diverged += float(info.divergence.mean()) / 10
        moved += float((state.x != x).flatten(1).any(1).double().mean()) / 10
        x = state.x
    assert 0.05 < diverged < 0.95
    assert moved > 0.5


@shapes
@pytest.mark.parametrize("beyond", [math.nan, math.inf, -math.inf])
def test_chains_that_begin_where_there_is_no_energy_are_counted_and_stay(event, beyond):
    """Not a finite number is never repaired. The chain beside it does not notice."""
    x = torch.full((2, *event), 0.1)
    x[0] = 2.0
    for state, info, _ in steps_of(NUTS(step_size=0.3), Edge(beyond), x, 5):
        assert torch.equal(state.x[0], x[0])
        assert float(info.divergence[0]) == 1
        assert float(info.acceptance[0]) == 0
        assert bool(state.x[1].isfinite().all())
    assert not torch.equal(state.x[1], x[1])


def test_a_step_that_is_far_too_long_diverges_and_stays():
    module = Gaussian(mean=(0.0, 0.0), covariance=1e-4).build((2,))
    x = 0.01 * torch.randn(100, 2, generator=generator(0))
    chain = run_chain(NUTS(steps=3, step_size=1.0), module, x, generator(1), traces=True)
    assert chain.traces["divergence"].tolist() == [1.0] * 3
    assert torch.equal(chain.x, x)


@shapes
def test_masses_of_another_length_are_refused(event):
    d = math.prod(event)
    assert NUTS().refusal(Question(event, Gaussian())) is None
    assert NUTS(mass=(1.0,) * d).refusal(Question(event, Gaussian())) is None
    assert (
        NUTS(mass=(1.0,) * (d + 1)).refusal(Question(event, Gaussian()))
        == f"has a 'mass' of {d + 1} coordinates, but a state has {d}"
    )


@pytest.mark.parametrize("mass", [0.0, -1.0, (1.0, 0.0), ((1.0, 2.0), (2.0, 1.0)), ((1.0, 0.0),)])
def test_masses_that_are_not_positive_are_refused(mass):
    with pytest.raises(ValueError, match="mass"):
        NUTS(mass=mass)


def test_given_masses_are_not_tuned():
    assert NUTS().tunes() == {"step_size", "mass"}
    assert NUTS(mass=1.0).tunes() == {"step_size"}


def test_single_precision_stays_single():
    torch.set_default_dtype(torch.float32)
    module = Gaussian(mean=(0.0, 0.0)).build((2,))
    sampler = NUTS(steps=2, mass=((1.0, 0.5), (0.5, 1.0)))
    chain = run_chain(sampler, module, torch.zeros(5, 2), generator(0), traces=True)
    assert {chain.x.dtype, *(trace.dtype for trace in chain.traces.values())} == {torch.float32}
