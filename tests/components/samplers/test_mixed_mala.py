"""`mixed_mala`: a step against explicit densities, no chain gets stuck, and barriers in few dimensions are crossed."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.mixed_mala import MixedMALA
from tests.components.oracles import EVENTS, generator

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def network(event):
    torch.manual_seed(0)
    return MLP(hidden=(16, 16), base_scale=0.7).build(event).double()


@shapes
@pytest.mark.parametrize("temperature", [1.0, 0.4, 3.0])
def test_one_step_is_the_formula(event, temperature):
    """Both kinds of proposals, accepted with exp(-dE/T) q(x|x*) / q(x*|x), by explicit densities."""
    d, n = math.prod(event), 400
    sampler = MixedMALA(step_sizes=(0.01, 0.5), jump=0.3, scales=(0.5, 1.5), temperature=temperature)
    module = network(event)
    x = torch.randn(n, *event, generator=generator(0))
    state, info = sampler.step(Energy(module), sampler.init(Energy(module), x, generator(1)), generator(1))

    rng = generator(1)
    h = 0.01 * 50 ** torch.rand(n, generator=rng)[:, None]
    s = 0.5 * 3 ** torch.rand(n, generator=rng)[:, None]
    jumps = torch.rand(n, generator=rng) < 0.3
    xi = torch.empty_like(x).normal_(generator=rng).flatten(1)

    def at(y):
        energy, gradient = Energy(module).value_and_grad(y.view(-1, *event))
        return energy, y - h * gradient.flatten(1)

    def log_normal(y, mean, variance):
        return -((y - mean).square() / (2 * variance)).sum(1) - d / 2 * variance.log().squeeze(1)

    start = x.flatten(1)
    energy, mean = at(start)
    proposal = torch.where(jumps[:, None], s * xi, mean + (2 * h * temperature).sqrt() * xi)
    proposed, mean_back = at(proposal)
    local = log_normal(start, mean_back, 2 * h * temperature) - log_normal(proposal, mean, 2 * h * temperature)
    independent = log_normal(start, 0, s**2) - log_normal(proposal, 0, s**2)
    log_ratio = (energy - proposed) / temperature + torch.where(jumps, independent, local)
    expected = log_ratio.exp().clamp(max=1)
    torch.testing.assert_close(info.acceptance, expected, rtol=1e-9, atol=1e-9)
    accepted = torch.rand(n, generator=rng) < expected
    torch.testing.assert_close(state.x.flatten(1), torch.where(accepted[:, None], proposal, start))
    assert float(expected.min()) < 0.99 < 50 * float(expected.mean())


@shapes
def test_energy_and_gradient_are_carried_along(event):
    """One gradient a step, and what is carried belongs to where the chain stands, refused or not."""
    module, sampler, rng = network(event), MixedMALA(step_sizes=(0.01, 2.0), scales=(0.5, 1.0)), generator(1)
    energy = Energy(module)
    state = sampler.init(energy, torch.randn(300, *event, generator=generator(0)), rng)
    stayed = 0
    for step in range(1, 8):
        before = state
        state, _ = sampler.step(energy, state, rng)
        assert energy.evaluations == step + 1
        height, gradient = Energy(module).value_and_grad(state.x)
        torch.testing.assert_close(state.energy, height)
        torch.testing.assert_close(state.gradient, gradient)
        stayed += int((state.x == before.x).flatten(1).all(1).sum())
    assert 100 < stayed < 2000


def test_chains_leave_a_slope_on_which_mala_rejects_every_step():
    module = Gaussian(mean=(0.0, 0.0), covariance=1e-3).build((2,)).double()
    start = torch.full((200, 2), 3.0, dtype=torch.float64)
    stuck = run_chain(MALA(steps=200, step_size=0.1), module, start, generator(0)).x
    assert stuck.equal(start)
    free = run_chain(MixedMALA(steps=200, jump=0.0), module, start, generator(0)).x
    assert float(free.abs().max()) < 6 * 1e-3**0.5


def test_barriers_are_crossed_in_few_dimensions():
    """Two modes of weights 0.3 and 0.7, twenty standard deviations apart, all chains in the first. Six standard errors
    of 4,000 chains are 0.043."""
    module = GaussianMixture(means=((-2.0,), (2.0,)), covariances=(0.04,), weights=(0.3, 0.7)).build((1,)).double()
    start = torch.full((4000, 1), -2.0, dtype=torch.float64)
    apart = run_chain(MixedMALA(steps=300, step_sizes=(1e-4, 0.05), jump=0.0), module, start, generator(0)).x
    assert float((apart > 0).double().mean()) == 0
    crossed = run_chain(MixedMALA(steps=300, step_sizes=(1e-4, 0.05), jump=0.3), module, start, generator(0)).x
    assert float((crossed > 0).double().mean()) == pytest.approx(0.7, abs=0.043)


@pytest.mark.parametrize("name", ["step_sizes", "scales"])
def test_bounds_in_the_wrong_order_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' has the lower bound 0.3, above the upper bound 0.1"):
        MixedMALA(**{name: (0.3, 0.1)})
    assert getattr(MixedMALA(**{name: (0.3, 0.3)}), name) == (0.3, 0.3)
