"""`mala`: the proposal and the acceptance that its formula says, with densities written out. See also `statistics/`."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.mala import MALA
from ebmkit.contracts.question import Question
from tests.components.oracles import EVENTS, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
MASSES = {
    "none": lambda d: None,
    "number": lambda d: 2.5,
    "each": lambda d: tuple(torch.linspace(0.5, 2.0, d).tolist()),
    "matrix": lambda d: rows(random_covariance(d, 2)),
}
masses = pytest.mark.parametrize("mass_for", MASSES.values(), ids=MASSES)


def network(event, scale=1.0):
    torch.manual_seed(0)
    return MLP(hidden=(8, 8), base_scale=scale).build(event)


def matrix_of(mass, d):
    given = torch.tensor(1.0 if mass is None else mass)
    return given if given.dim() == 2 else given.expand(d).diag()


@shapes
@masses
@pytest.mark.parametrize("temperature", [1.0, 0.4, 3.0])
def test_one_step_is_the_formula(event, mass_for, temperature):
    """x* = x - h V dE + sqrt(2 h T) V^1/2 xi, accepted with exp(-dE/T) q(x|x*) / q(x*|x), by explicit densities."""
    d = math.prod(event)
    h = 0.1 * d**-0.33
    mass = mass_for(d)
    module = network(event, 0.5)
    sampler = MALA(step_size=h, mass=mass, temperature=temperature)
    x = torch.randn(400, *event, generator=generator(0))
    state, info = sampler.step(Energy(module), sampler.init(Energy(module), x, generator(1)), generator(1))

    M = matrix_of(mass, d)
    V = torch.linalg.inv(M)
    rng = generator(1)
    xi = torch.empty_like(x).normal_(generator=rng).flatten(1)
    root = V @ torch.linalg.cholesky(M)  # of V: root root' = V M V
    torch.testing.assert_close(root @ root.T, V)

    def at(y):
        energy, gradient = Energy(module).value_and_grad(y.view(-1, *event))
        return energy, y - h * gradient.flatten(1) @ V

    def log_q(to, mean):
        return -((to - mean) @ M * (to - mean)).sum(1) / (4 * h * temperature)

    start = x.flatten(1)
    energy, mean = at(start)
    proposal = mean + math.sqrt(2 * h * temperature) * xi @ root.T
    proposed, mean_back = at(proposal)
    log_ratio = (energy - proposed) / temperature + log_q(start, mean_back) - log_q(proposal, mean)
    expected = log_ratio.exp().clamp(max=1)
    torch.testing.assert_close(info.acceptance, expected, rtol=1e-9, atol=1e-9)
    accepted = torch.empty_like(energy).uniform_(generator=rng) < expected
    torch.testing.assert_close(state.x.flatten(1), torch.where(accepted[:, None], proposal, start))
    assert float(expected.min()) < 0.99 < 50 * float(expected.mean())
    assert not bool(info.divergence.any())


@shapes
@masses
def test_it_is_hmc_with_one_leapfrog_step(event, mass_for):
    """... of sqrt(2 step_size), to the last bit."""
    mass = mass_for(math.prod(event))
    module = network(event)
    x = torch.randn(50, *event, generator=generator(0))
    mala = MALA(steps=6, step_size=0.125, mass=mass, temperature=2.0)
    hmc = HMC(steps=6, step_size=0.5, leapfrog_steps=1, jitter=0.0, mass=mass, temperature=2.0)
    one, other = (run_chain(sampler, module, x, generator(1), traces=True) for sampler in (mala, hmc))
    assert one.x.equal(other.x)
    assert one.traces["acceptance"].equal(other.traces["acceptance"])


@shapes
def test_energy_and_gradient_are_carried_along(event):
    """One gradient a step, and what is carried belongs to where the chain stands, refused or not."""
    module = network(event, 0.7)
    energy, sampler, rng = Energy(module), MALA(step_size=0.6 / math.prod(event)), generator(1)
    state = sampler.init(energy, torch.randn(300, *event, generator=generator(0)), rng)
    refused = moved = 0
    for step in range(1, 16):
        before = state
        state, info = sampler.step(energy, state, rng)
        assert energy.evaluations == step + 1
        assert info.energy is before.energy
        assert info.gradient is before.gradient
        height, gradient = Energy(module).value_and_grad(state.x)
        torch.testing.assert_close(state.energy, height)
        torch.testing.assert_close(state.gradient, gradient)
        stayed = (state.x == before.x).flatten(1).all(1)
        refused, moved = refused + int(stayed.sum()), moved + int((~stayed).sum())
    assert refused > 100
    assert moved > 100


def test_the_printed_half_kick_would_be_another_chain():
    """Amini's algorithm 23 has eta^2/2 where eta/2 is right; the acceptances differ."""
    eta, module = 0.5, Gaussian(mean=(0.0,), covariance=0.5).build((1,))
    x = torch.randn(2_000, 1, generator=generator(0))
    sampler = MALA(step_size=eta**2 / 2)
    state = sampler.init(Energy(module), x, generator(1))
    _, info = sampler.step(Energy(module), state, generator(1))
    p = torch.empty_like(x).normal_(generator=generator(1))
    there = x + eta * (p - eta / 2 * state.gradient)
    energy, gradient = Energy(module).value_and_grad(there)

    def acceptance(first):
        p_there = p - first * state.gradient - eta / 2 * gradient
        return (state.energy - energy + (p.square() - p_there.square()).sum(1) / 2).exp().clamp(max=1)

    torch.testing.assert_close(info.acceptance, acceptance(eta / 2))
    assert float((info.acceptance - acceptance(eta**2 / 2)).abs().max()) > 0.1


def test_a_warm_up_may_tune_what_the_spec_leaves_open():
    assert MALA().tunes() == {"step_size", "mass"}
    assert MALA(mass=2.0).tunes() == {"step_size"}
    assert MALA().target_acceptance == 0.574


class Cliff(nn.Module):
    """Infinite on the left, not a number on the right."""

    def forward(self, x):
        x = x.flatten(1)[:, 0]
        inside = x.square() / 2
        return torch.where(x > 1, torch.nan, torch.where(x < -1, torch.inf, inside))


def test_chains_leave_infinite_energies_and_are_stuck_at_nan():
    x = torch.tensor([[-1.1], [2.0], [0.0]])
    chain = run_chain(MALA(steps=200, step_size=0.2), Cliff(), x, generator(0), traces=True)
    assert abs(chain.x[0].item()) <= 1
    assert chain.x[1].item() == 2.0  # not a number is never repaired
    assert abs(chain.x[2].item()) <= 1
    assert (chain.last.acceptance[1].item(), chain.last.divergence[1].item()) == (0, 1)
    assert bool(chain.traces["acceptance"].isfinite().all())


@shapes
def test_masses_of_another_length_are_refused(event):
    d = math.prod(event)
    for mass in (None, 2.0, (1.0,) * d, rows(torch.eye(d))):
        assert MALA(mass=mass).refusal(Question(event, Gaussian())) is None
    for mass in ((1.0,) * (d + 1), rows(torch.eye(d + 1))):
        assert (
            MALA(mass=mass).refusal(Question(event, Gaussian()))
            == f"has a 'mass' of {d + 1} coordinates, but a state has {d}"
        )


@pytest.mark.parametrize(
    ("mass", "says"),
    [
        (0.0, "the mass 0.0 is not positive"),
        ((1.0, -1.0), "the mass -1.0 is not positive"),
        (((1.0, 2.0), (2.0, 1.0)), "the mass is not positive definite"),
        (((1.0, 1.0), (1.0, 1.0)), "the mass is not positive definite"),
        (((1.0, 0.5), (0.4, 1.0)), "the mass is not symmetric"),
        (((1.0, 0.5), (0.5,)), "2 rows of 2 numbers"),
    ],
)
def test_what_is_no_mass(mass, says):
    for sampler in (MALA, HMC):
        with pytest.raises(ValueError, match=says):
            sampler(mass=mass)


@masses
def test_single_precision_stays_single(mass_for):
    torch.set_default_dtype(torch.float32)
    module = Banana().build((2,))
    sampler = MALA(steps=2, mass=mass_for(2))
    chain = run_chain(sampler, module, torch.zeros(5, 2), generator(0), traces=True)
    assert {chain.x.dtype, *(trace.dtype for trace in chain.traces.values())} == {torch.float32}
    assert sampler.init(Energy(module), torch.zeros(5, 2), generator(0)).step_size.dtype == torch.float32
