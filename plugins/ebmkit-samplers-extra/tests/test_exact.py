"""Exact samplers: chains that start at independent draws of their target are such draws some steps later.

Kolmogorov-Smirnov tests against closed distribution functions, at a false-alarm rate of 1e-6 for all tests here.
"""

import math
from typing import Any, NamedTuple

import pytest
import torch
from ebmkit_samplers_extra import Barker, BayesianRegression, EllipticalSlice
from targets import Posterior, Quadratic, TwoModes, assert_uniform, generator, p_values

from ebmkit.api import Sampler, StepInfo, run_chain

EVENTS = [(1,), (2,), (10,), (1, 3, 3)]
#: Statistics that all tests of this file compare, at most.
COMPARISONS = 500
#: Chains: in each test of `pytest`, and of `pytest -m long`.
QUICK, LONG = 60_000, 1_000_000
sizes = pytest.mark.parametrize("chains", [QUICK, pytest.param(LONG, marks=pytest.mark.long)])


def regression(d, noise_std=0.8, seed=0):
    rng = generator(seed)
    inputs = torch.randn(d + 2, d, generator=rng)
    targets = torch.randn(d + 2, generator=rng)
    rows = tuple(map(tuple, inputs.tolist()))
    correlation = 0.5 if d > 1 else 0.0
    return BayesianRegression(
        inputs=rows,
        targets=tuple(targets.tolist()),
        noise_std=noise_std,
        prior_mean=0.7,
        prior_std=1.5,
        correlation=correlation,
    )


class InnerState(NamedTuple):
    x: Any
    inner: Any


class At(Sampler):
    """The same sampler on `E / T`, as replica exchange runs it."""

    traces = frozenset()
    steps: int = 4

    def __init__(self, sampler, temperature):
        object.__setattr__(self, "sampler", sampler)
        object.__setattr__(self, "temperature", temperature)

    def heated(self, energy, x):
        return energy.at(x.new_full((len(x),), self.temperature))

    def init(self, energy, x, rng):
        return InnerState(x, self.sampler.init(self.heated(energy, x), x, rng))

    def step(self, energy, state, rng):
        inner, _ = self.sampler.step(self.heated(energy, state.x), state.inner, rng)
        return InnerState(inner.x, inner), StepInfo()


# --- Barker ----------------------------------------------------------------------------------------------------------


@sizes
@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_barker_keeps_a_gaussian(event, temperature, chains):
    target, d = Quadratic(event), math.prod(event)
    sampler = Barker(steps=4, step_size=1.3 * math.sqrt(temperature) * d**-0.2, temperature=temperature)
    chain = run_chain(sampler, target, target.draws(chains, 1, temperature), generator(2), traces=True)
    assert_uniform(target.uniforms(chain.x, temperature), COMPARISONS)
    assert 0.2 < float(chain.traces["acceptance"].mean()) < 0.9  # otherwise nothing is tested


@sizes
@pytest.mark.parametrize("step_size", [0.3, 1.5, 6.0])
def test_barker_keeps_two_modes(step_size, chains):
    target = TwoModes()
    chain = run_chain(Barker(steps=4, step_size=step_size), target, target.draws(chains, 1), generator(2))
    assert_uniform(target.uniforms(chain.x), COMPARISONS)


@pytest.mark.parametrize("sampler", [Barker(steps=4, step_size=0.8)], ids=str)
def test_barker_keeps_what_a_temperature_per_chain_says(sampler):
    target = Quadratic((2,))
    chain = run_chain(At(sampler, 3.0), target, target.draws(QUICK, 1, 3.0), generator(2))
    assert_uniform(target.uniforms(chain.x, 3.0), COMPARISONS)


def test_barker_goes_downhill_but_no_further_on_a_steeper_slope():
    class Slope(torch.nn.Module):
        def forward(self, x):
            return 1e6 * x.sum(1)

    x = torch.zeros(2_000, 3)
    moved = run_chain(Barker(steps=1, step_size=0.2), Slope(), x, generator(0)).x
    assert bool((moved < 0).all())  # 1 / (1 + exp(-|z| 1e6)) is one
    assert float(moved.std()) == pytest.approx(0.2 * math.sqrt(1 - 2 / math.pi), rel=0.03)


def test_barker_refuses_energies_that_are_not_finite():
    class Wall(torch.nn.Module):
        def forward(self, x):
            return torch.where(x[:, 0] > 0, x[:, 0] ** 2 / 2, torch.nan)

    target = torch.randn(QUICK, 1, generator=generator(3)).abs()
    chain = run_chain(Barker(steps=4, step_size=1.0), Wall(), target, generator(4), traces=True)
    assert bool((chain.x > 0).all())
    assert float(chain.traces["divergence"].mean()) > 0.05
    assert_uniform(2 * torch.special.ndtr(chain.x) - 1, COMPARISONS)


# --- elliptical slices -----------------------------------------------------------------------------------------------


@sizes
@pytest.mark.parametrize("d", [1, 2, 10])
def test_elliptical_slices_keep_a_conjugate_posterior(d, chains):
    model = regression(d)
    target = Posterior(model)
    module = model.build(model.event())
    x = run_chain(EllipticalSlice(steps=4), module, target.draws(chains, 1), generator(2)).x
    assert_uniform(target.uniforms(x), COMPARISONS)


@sizes
@pytest.mark.parametrize("temperature", [0.4, 4.0])
def test_elliptical_slices_keep_it_at_other_temperatures(temperature, chains):
    model = regression(2)
    target, module = Posterior(model), model.build((2,))
    sampler = At(EllipticalSlice(steps=4), temperature)
    x = run_chain(sampler, module, target.draws(chains, 1, temperature), generator(2)).x
    assert_uniform(target.uniforms(x, temperature), COMPARISONS)


@pytest.mark.parametrize("max_shrinks", [1, 2, 3])
def test_elliptical_slices_keep_it_if_some_chains_find_nothing(max_shrinks):
    model = regression(2, noise_std=0.3)
    target, module = Posterior(model), model.build((2,))
    start = target.draws(QUICK, 1)
    x = run_chain(EllipticalSlice(steps=4, max_shrinks=max_shrinks), module, start, generator(2)).x
    assert_uniform(target.uniforms(x), COMPARISONS)
    still = float((x == start).all(1).double().mean())
    assert 0.001 < still < 0.9


def test_elliptical_slices_reach_the_posterior_from_elsewhere():
    model = regression(2)
    target, module = Posterior(model), model.build((2,))
    x = run_chain(EllipticalSlice(steps=60), module, torch.full((10_000, 2), 5.0), generator(2)).x
    assert_uniform(target.uniforms(x), COMPARISONS)


def test_the_model_is_the_posterior_of_the_normal_equations():
    for d in (1, 2, 10):
        model = regression(d)
        target, module = Posterior(model), model.build((d,))
        x = target.draws(50, 3)
        off = module(x) - target(x)
        torch.testing.assert_close(off, off[:1].expand(50))  # the same up to a constant, which is in log Z:
        exact = d / 2 * math.log(2 * math.pi) + torch.linalg.slogdet(target.covariance).logabsdet / 2 - off[0]
        torch.testing.assert_close(module.log_z(), exact)
        assert_uniform(target.uniforms(module.sample_exact(QUICK, generator(4))), COMPARISONS)


# --- the tests themselves --------------------------------------------------------------------------------------------


def test_small_biases_would_be_seen():
    """At the size of the quick tests: means off by 0.03 standard deviations, and scales by 3 %."""
    target = Quadratic((2,))
    x = target.draws(QUICK, 5)
    assert_uniform(target.uniforms(x), COMPARISONS)
    for wrong in (x + 0.04, target.mean + 1.05 * (x - target.mean)):
        assert min(p_values(target.uniforms(wrong))) < 1e-6 / COMPARISONS
