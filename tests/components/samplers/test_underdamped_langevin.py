"""`underdamped_langevin`: SGD with momentum, Langevin dynamics, and what lies between them. See also `statistics/`."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.langevin import Langevin, LangevinState
from ebmkit.components.samplers.underdamped_langevin import UnderdampedLangevin, UnderdampedState
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def network(event):
    torch.manual_seed(0)
    return MLP(hidden=(16, 16), base_scale=1.0).build(event)


@shapes
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_without_noise_it_is_sgd_with_momentum(event, momentum):
    module = network(event).requires_grad_(False)
    x = torch.randn(20, *event, generator=generator(0))
    descent = x.clone().requires_grad_()
    optimizer = torch.optim.SGD([descent], lr=0.05, momentum=momentum)
    for _ in range(50):
        optimizer.zero_grad()
        module(descent).sum().backward()
        optimizer.step()
    sampler = UnderdampedLangevin(steps=50, step_size=0.05, momentum=momentum, noise_std=0.0)
    chain = run_chain(sampler, module, x, generator(1))
    torch.testing.assert_close(chain.x, descent.detach(), rtol=1e-12, atol=1e-12)
    assert float((chain.x - x).abs().mean()) > 0.1


@shapes
@pytest.mark.parametrize("parameters", [{}, {"temperature": 2.0}, {"noise_std": 0.3}])
def test_without_momentum_it_is_langevin(event, parameters):
    module = network(event)
    x = torch.randn(20, *event, generator=generator(0))
    plain = Langevin(step_size=0.05, **parameters)
    heavy = UnderdampedLangevin(step_size=0.05, momentum=0.0, **parameters)
    one, other = generator(1), generator(1)
    lone, state = LangevinState(x), UnderdampedState(x, torch.full_like(x, 9.0))
    for _ in range(10):
        lone, seen = plain.step(Energy(module), lone, one)
        state, also_seen = heavy.step(Energy(module), state, other)
        torch.testing.assert_close(state.x, lone.x)
        torch.testing.assert_close(also_seen.energy, seen.energy)
        torch.testing.assert_close(also_seen.gradient, seen.gradient)


@shapes
def test_it_is_the_integrator_of_brunger_brooks_and_karplus(event):
    """(1 + g/2) x'' - 2 x' + (1 - g/2) x = -eps^2 dE(x') + sqrt(2 gamma T eps^3) xi with g = gamma eps."""
    gamma, eps, T = 1.3, 0.2, 0.7
    g = gamma * eps
    sampler = UnderdampedLangevin(momentum=(1 - g / 2) / (1 + g / 2), step_size=eps**2 / (1 + g / 2), temperature=T)
    module = network(event)
    x = torch.randn(30, *event, generator=generator(0))
    first = sampler.init(Energy(module), x, generator(1))
    second, _ = sampler.step(Energy(module), first, generator(2))
    third, _ = sampler.step(Energy(module), second, generator(3))
    xi = torch.empty_like(x).normal_(generator=generator(3))
    gradient = Energy(module).value_and_grad(second.x)[1]
    left = (1 + g / 2) * third.x - 2 * second.x + (1 - g / 2) * first.x
    torch.testing.assert_close(left, -(eps**2) * gradient + math.sqrt(2 * gamma * T * eps**3) * xi)


@shapes
@pytest.mark.parametrize("parameters", [{}, {"temperature": 2.5}, {"noise_std": 0.1}])
def test_chains_begin_with_the_speed_that_free_ones_keep(event, parameters):
    """v' = momentum v + noise has the variance noise_std^2 / (1 - momentum^2), which is 2 h T / (1 + momentum)."""
    h, momentum, T = 0.04, 0.7, parameters.get("temperature", 1.0)
    sampler = UnderdampedLangevin(step_size=h, momentum=momentum, **parameters)
    variance = 2 * h * T / (1 + momentum)
    if "noise_std" in parameters:
        variance = 0.01 / (1 - momentum**2)
    state = sampler.init(Energy(None), torch.zeros(20_000, *event), generator(0))
    v = state.v.flatten(1)
    assert_follows([(v[:, i] / math.sqrt(variance), normal_cdf) for i in {0, v.shape[1] - 1}])


@shapes
@pytest.mark.parametrize(
    ("parameters", "T"), [({}, 1.0), ({"temperature": 2.0}, 2.0), ({"noise_std": math.sqrt(2 * 0.2 * 0.1 * 3)}, 3.0)]
)
def test_chains_from_elsewhere_reach_the_biased_variance(event, parameters, T):
    """T s^2 / (1 - h / (2 (1 + momentum) s^2)) in every coordinate."""
    d, h, momentum = math.prod(event), 0.1, 0.8
    s2 = torch.linspace(0.3, 1.0, d)
    module = Gaussian(mean=(1.0,) * d, covariance=tuple(s2.tolist()), shape=event).build(event)
    sampler = UnderdampedLangevin(steps=100, step_size=h, momentum=momentum, **parameters)
    x = run_chain(sampler, module, torch.full((10_000, *event), -1.0), generator(1)).x.flatten(1)
    width = (T * s2 / (1 - h / (2 * (1 + momentum) * s2))).sqrt()
    white = (x - 1) / width
    some = range(0, d, max(1, d // 3))
    assert_follows([(white[:, i], normal_cdf) for i in some])
    if d > 1:
        assert_follows([((white[:, 0] + white[:, -1]) / math.sqrt(2), normal_cdf)])


def test_momentum_leads_further():
    """Down a slope of constant steepness chains run 1 / (1 - momentum) times as fast, and spread as much more."""

    class Slope(torch.nn.Module):
        def forward(self, x):
            return x.sum(1)

    n, steps, h, momentum = 20_000, 200, 0.01, 0.9
    x = run_chain(
        UnderdampedLangevin(steps=steps, step_size=h, momentum=momentum), Slope(), torch.zeros(n, 1), generator(0)
    ).x
    clock = h / (1 - momentum)
    assert float(x.mean()) == pytest.approx(-clock * steps, rel=0.06)  # the first ten steps are slower
    assert float(x.var()) == pytest.approx(2 * clock * steps, rel=0.06)


def test_a_step_reports_what_it_saw_and_leaves_its_state_alone():
    module = Gaussian(mean=(0.0, 0.0), covariance=0.5).build((2,))
    x = torch.randn(6, 2, generator=generator(0))
    sampler = UnderdampedLangevin()
    state = sampler.init(Energy(module), x, generator(1))
    kept = [state.x.clone(), state.v.clone()]
    _, info = sampler.step(Energy(module), state, generator(1))
    torch.testing.assert_close([state.x, state.v], kept, rtol=0, atol=0)
    torch.testing.assert_close(info.energy, x.square().sum(1))
    torch.testing.assert_close(info.gradient, 2 * x)
    assert (info.acceptance, info.divergence) == (None, None)


def test_two_strengths_of_the_noise_are_refused():
    with pytest.raises(ValueError, match="give one of them"):
        UnderdampedLangevin(noise_std=0.1, temperature=2.0)


def test_single_precision_stays_single():
    torch.set_default_dtype(torch.float32)
    module = Gaussian(mean=(0.0, 0.0)).build((2,))
    chain = run_chain(UnderdampedLangevin(steps=2), module, torch.zeros(5, 2), generator(0), traces=True)
    assert {chain.x.dtype, *(trace.dtype for trace in chain.traces.values())} == {torch.float32}
