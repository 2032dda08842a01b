"""`langevin`: on a Gaussian every step is a Gaussian whose variance follows a recursion, bias included."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.langevin import Langevin
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf


def variances(d):
    return torch.linspace(0.4, 1.5, d)


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize(
    ("parameters", "noise"),
    [
        ({}, math.sqrt(0.2)),
        ({"temperature": 2.0}, math.sqrt(0.4)),
        ({"temperature": 0.5}, math.sqrt(0.1)),
        ({"noise_std": 0.3}, 0.3),
    ],
)
def test_variance_follows_the_recursion_of_the_discretisation(event, parameters, noise):
    d, n, steps, h = math.prod(event), 20_000, 25, 0.1
    s2 = variances(d)
    module = Gaussian(mean=(1.0,) * d, covariance=tuple(s2.tolist()), shape=event).build(event)
    rng = generator(0)
    x0 = NoiseStart(scale=0.7).build(event).draw(torch.zeros(n, *event), rng)
    x = run_chain(Langevin(steps=steps, step_size=h, **parameters), module, x0, rng).x.flatten(1)
    mean, variance = torch.zeros(d), torch.full((d,), 0.49)
    for _ in range(steps):
        mean, variance = mean - h * (mean - 1) / s2, (1 - h / s2) ** 2 * variance + noise**2
    some = range(0, d, max(1, d // 3))
    assert_follows([(x[:, i], lambda t, i=i: normal_cdf((t - mean[i]) / variance[i].sqrt())) for i in some])
    if d > 1:  # coordinates stay independent
        white = (x - mean) / variance.sqrt()
        assert_follows([((white[:, 0] + white[:, -1]) / math.sqrt(2), normal_cdf)])


def test_stationary_variance_is_the_biased_one():
    """For x' = x - h x / s^2 + sqrt(2 h T) xi it is T s^2 / (1 - h / (2 s^2)), not T s^2."""
    s2, h, T = 0.5, 0.2, 1.5
    module = Gaussian(mean=(0.0,), covariance=s2).build((1,))
    x = run_chain(Langevin(steps=60, step_size=h, temperature=T), module, torch.zeros(50_000, 1), generator(1)).x
    exact = T * s2 / (1 - h / (2 * s2))
    assert_follows([(x[:, 0], lambda t: normal_cdf(t / math.sqrt(exact)))])
    assert float(x.var()) > 1.2 * T * s2  # the bias is large enough for the test to see


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_without_noise_it_is_gradient_descent_with_a_clipped_norm(event):
    d = math.prod(event)
    module = Gaussian(mean=(0.0,) * d, covariance=1.0, shape=event).build(event)
    x = torch.stack([torch.full(event, 0.01), torch.full(event, 5.0), torch.zeros(event)])
    sampler = Langevin(steps=1, step_size=0.1, noise_std=0.0, clip_gradient=1.0)
    moved = run_chain(sampler, module, x, generator(0)).x
    unit = torch.full(event, 1 / math.sqrt(d))
    torch.testing.assert_close(moved[0], x[0] - 0.1 * x[0])  # short gradients stay as they are
    torch.testing.assert_close(moved[1], x[1] - 0.1 * unit)
    torch.testing.assert_close(moved[2], x[2])


def test_clamp_keeps_positions_inside():
    module = Gaussian(mean=(5.0, -5.0), covariance=1.0).build((2,))
    x = run_chain(Langevin(steps=50, step_size=0.1, clamp=(-1.0, 2.0)), module, torch.zeros(100, 2), generator(0)).x
    assert float(x.min()) >= -1
    assert float(x.max()) <= 2
    assert float(x[:, 0].mean()) > 1.5


def test_step_reports_what_it_saw_and_leaves_its_input_alone():
    module = Gaussian(mean=(0.0, 0.0), covariance=0.5).build((2,))
    x = torch.randn(6, 2, generator=generator(0))
    before = x.clone()
    sampler = Langevin(clip_gradient=0.1)
    state, info = sampler.step(Energy(module), sampler.init(Energy(module), x, generator(1)), generator(1))
    torch.testing.assert_close(x, before)
    torch.testing.assert_close(info.energy, before.square().sum(1))
    torch.testing.assert_close(info.gradient, 2 * before)  # unclipped: the trace shows what clipping hides
    assert state.x.shape == x.shape


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"noise_std": 0.1, "temperature": 2.0}, "give one of them"),
        ({"clamp": (1.0, 1.0)}, "not below the upper bound"),
    ],
)
def test_contradictions_are_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        Langevin(**parameters)


class Steep(nn.Module):
    def forward(self, x):
        return x.flatten(1).pow(4).sum(1)


@pytest.mark.parametrize("event", [(1,), (1, 2, 2)], ids=str)
def test_a_clamp_does_not_bring_back_what_ran_away(event):
    x = torch.stack([torch.full(event, value) for value in (1e200, -1e200, 0.5)])
    x = run_chain(Langevin(steps=1, clamp=(-1.0, 1.0)), Steep(), x, generator(0)).x.flatten(1)
    assert not bool(x[:2].isfinite().any())
    assert float(x[2].abs().max()) <= 1
