"""Stochastic-gradient HMC against the closed form of its bias: on a Gaussian a step is a linear recursion."""

import math

import pytest
import torch
from ebmkit_samplers_extra import SGHMC, BayesianRegression
from ebmkit_samplers_extra.sghmc import SGHMCState
from targets import Quadratic, assert_uniform, generator

from ebmkit.api import run_chain

EVENTS = [(1,), (2,), (10,), (1, 3, 3)]
#: Statistics that all tests of this file compare, at most.
COMPARISONS = 500
QUICK, LONG = 60_000, 1_000_000
sizes = pytest.mark.parametrize("chains", [QUICK, pytest.param(LONG, marks=pytest.mark.long)])


class Exact:
    """The energy of a module, as a step asks for it."""

    evaluations = 0

    def __init__(self, module):
        self.value_and_grad = module.energy_and_grad
        self.module = module

    def ask(self, ability):
        return self.module


def stepped(sampler, energy, rows, event, seed=0):
    """A step of states that are written as rows of positions and velocities."""
    d = rows.shape[1] // 2
    state = SGHMCState(*(part.reshape(-1, *event) for part in rows.split(d, 1)))
    moved, _ = sampler.step(energy, state, generator(seed))
    return torch.cat([part.flatten(1) for part in moved], 1)


def recursion(sampler, target):
    """A and Q of `s' = A s + noise`: by the difference of two steps with the same noise, and a step from rest."""
    event = target.event
    d = math.prod(event)
    energy = Exact(target)
    rest = torch.cat([target.mean, torch.zeros(d)]).expand(2 * d, 2 * d)
    A = (stepped(sampler, energy, rest + torch.eye(2 * d), event) - stepped(sampler, energy, rest, event)).T
    one = rest[:1]
    noise = stepped(sampler, energy, one, event) - one
    xi = torch.empty(1, *event).normal_(generator=generator(0)).flatten(1)
    scale = noise[:, d:] / xi
    torch.testing.assert_close(scale, scale[:, :1].expand_as(scale))
    torch.testing.assert_close(noise[:, :d], noise[:, d:] / 2)
    G = float(scale[0, 0]) * torch.cat([torch.eye(d) / 2, torch.eye(d)])
    return A, G @ G.T


def stationary(A, Q):
    """S with `S = A S A' + Q`."""
    size = len(A)
    return torch.linalg.solve(torch.eye(size**2) - torch.kron(A, A), Q.flatten()).view(size, size)


SETTINGS = [
    SGHMC(step_size=0.01, friction=0.1),
    SGHMC(step_size=0.3, friction=0.1),
    SGHMC(step_size=0.1, friction=1.0),
    SGHMC(step_size=0.2, friction=0.5, temperature=3.0),
]
each = pytest.mark.parametrize("sampler", SETTINGS, ids=str)


@each
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_stationary_law_of_a_gaussian(event, sampler):
    """Positions have the covariance of the target at every step size; velocities do not correlate with them. Positions
    of the published form, x + v/2, have its bias 1 / (1 - step_size / (2 (2 - friction) s^2)) in each direction."""
    target = Quadratic(event)
    d = math.prod(event)
    S = stationary(*recursion(sampler, target))
    T, eta, alpha = sampler.temperature, sampler.step_size, sampler.friction
    torch.testing.assert_close(S[:d, :d], T * target.covariance, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(S[:d, d:], torch.zeros(d, d), rtol=0, atol=1e-10)
    narrower = torch.linalg.inv(torch.eye(d) - eta / (2 * (2 - alpha)) * target.precision)
    torch.testing.assert_close(S[d:, d:], 2 * eta * T / (2 - alpha) * narrower, rtol=1e-8, atol=1e-10)
    published = S[:d, :d] + S[d:, d:] / 4
    torch.testing.assert_close(published, T * narrower @ target.covariance, rtol=1e-8, atol=1e-10)


def test_bias_of_the_published_form_is_of_first_order():
    """By the same closed form: it falls by half with the step size, where that of positions is zero at each."""
    target = Quadratic((1,))
    off = []
    for eta in (0.02, 0.01, 0.005):
        S = stationary(*recursion(SGHMC(step_size=eta, friction=0.2), target))
        off.append(float(S[0, 0] + S[1, 1] / 4 - target.covariance[0, 0]))
    assert off[0] / off[1] == pytest.approx(2, rel=0.02)
    assert off[1] / off[2] == pytest.approx(2, rel=0.02)


@sizes
@pytest.mark.parametrize("steps", [1, 7, 40])
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_chains_have_no_transient(event, steps, chains):
    """From exact draws, with velocities of its own: right after any number of steps, at low friction, too."""
    target = Quadratic(event)
    sampler = SGHMC(steps=steps, step_size=0.01, friction=0.1)
    x = run_chain(sampler, target, target.draws(chains, 1), generator(2)).x
    assert_uniform(target.uniforms(x), COMPARISONS)


@sizes
@pytest.mark.parametrize("temperature", [0.3, 4.0])
def test_a_temperature_scales_the_covariance(temperature, chains):
    target = Quadratic((2,))
    sampler = SGHMC(steps=15, step_size=0.02, friction=0.3, temperature=temperature)
    x = run_chain(sampler, target, target.draws(chains, 1, temperature), generator(2)).x
    assert_uniform(target.uniforms(x, temperature), COMPARISONS)


@pytest.mark.long
def test_bias_of_other_energies_is_of_first_order():
    """E = x^4 / 4, whose second moment is 2 gamma(3/4) / gamma(1/4)."""

    class Quartic(torch.nn.Module):
        def energy_and_grad(self, x):
            return (x**4).sum(1) / 4, x**3

    exact = 2 * math.gamma(0.75) / math.gamma(0.25)
    off = []
    for eta in (0.4, 0.2):
        sampler = SGHMC(steps=400, step_size=eta, friction=0.8)
        x = run_chain(sampler, Quartic(), torch.randn(2_000_000, 1, generator=generator(1)) * 0.8, generator(2)).x
        off.append(float(x.square().mean()) - exact)
    assert abs(off[0]) > 0.01
    assert 1.5 < off[0] / off[1] < 3.5


def test_energies_of_few_observations():
    """Estimated gradients: their noise takes the place of injected noise; if it is not counted, chains are too hot.

    The inputs are spread evenly over directions and every residual has the same size, so that the variance of an
    estimate is `count^2 / terms / 2 / noise_std^2` in both coordinates, up to the spread of the posterior.
    """
    count, terms, alpha, eta = 400, 4, 0.5, 5e-5
    angles = [2 * math.pi * k / 100 for k in range(100) for _ in range(4)]
    inputs = tuple((math.cos(a), math.sin(a)) for a in angles)
    targets = tuple(float((-1) ** k) for k in range(count))  # residuals of 1 around coefficients of zero
    model = BayesianRegression(inputs=inputs, targets=targets, noise_std=1.0, prior_std=10.0)
    module = model.build((2,))
    start = module.sample_exact(6_000, generator(0))
    variance = count**2 / terms / 2
    exact = 1 / (count / 2 + 0.01)
    estimates = module.gradient_estimate(torch.zeros(20_000, 2), terms, generator(1))
    torch.testing.assert_close(estimates.mean(0), torch.zeros(2), rtol=0, atol=6 * math.sqrt(variance / 20_000))
    torch.testing.assert_close(estimates.var(0), torch.full((2,), variance), rtol=0.08, atol=0)
    for counted, factor in ((variance, 1.0), (0.0, 1 + eta * variance / (2 * alpha))):
        sampler = SGHMC(steps=300, step_size=eta, friction=alpha, terms=terms, gradient_variance=counted)
        x = run_chain(sampler, module, start, generator(2)).x
        assert float(x.var(0).mean()) == pytest.approx(factor * exact, rel=0.08)  # 6 standard errors
    assert eta * variance / (2 * alpha) > 0.5  # else nothing is tested


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"gradient_variance": 1.0}, "it needs 'terms'"),
        ({"gradient_variance": 100.0, "terms": 3}, "more noise than friction takes: 'step_size' must be at most 0.002"),
    ],
    ids=["exact gradients", "too much noise"],
)
def test_what_makes_no_sense_is_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        SGHMC(**parameters)
