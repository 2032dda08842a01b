"""Stein variational gradient descent against its definition, and against what it is to end in."""

import math

import pytest
import torch
from ebmkit_samplers_extra import SVGD
from targets import Quadratic, generator

from ebmkit.api import run_chain

EVENTS = [(1,), (2,), (10,), (1, 3, 3)]
shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def by_definition(x, target, h, temperature):
    """phi, particle by particle, with the gradient of the kernel by autograd."""
    found = torch.zeros_like(x)
    n = len(x)
    for i in range(n):
        for j in range(n):
            at = x[j].clone().requires_grad_()
            kernel = torch.exp(-(at - x[i]).square().sum() / h)
            (slope,) = torch.autograd.grad(kernel, at)
            force = -target.energy_and_grad(x[j : j + 1])[1][0] / temperature
            found[i] += (kernel.detach() * force + slope) / n
    return found


@shapes
@pytest.mark.parametrize(
    "sampler", [SVGD(steps=1), SVGD(steps=1, bandwidth=0.7, step_size=0.5, temperature=2.0)], ids=str
)
def test_a_step_is_its_definition(event, sampler):
    target = Quadratic(event)
    x = target.draws(9, 1) * 1.5
    distances = [float((x[i] - x[j]).square().sum().sqrt()) for i in range(9) for j in range(i)]
    h = sampler.bandwidth or torch.tensor(distances).median().item() ** 2 / math.log(10)
    exact = x + sampler.step_size * by_definition(x, target, h, sampler.temperature)
    torch.testing.assert_close(run_chain(sampler, target, x, generator(0)).x, exact, rtol=1e-9, atol=1e-10)


def test_blocks_of_rows_are_one_set(monkeypatch):
    target = Quadratic((2,))
    x = target.draws(50, 1)
    whole = run_chain(SVGD(steps=5), target, x, generator(0)).x
    monkeypatch.setattr("ebmkit_samplers_extra.svgd.PAIRS", 50 * 7)
    torch.testing.assert_close(run_chain(SVGD(steps=5), target, x, generator(0)).x, whole)


@pytest.mark.parametrize("temperature", [1.0, 4.0])
@pytest.mark.parametrize("event", [(1,), (2,)], ids=str)
def test_many_particles_in_few_dimensions_have_the_moments_of_the_target(event, temperature):
    """From far away. With 100 particles variances are right to some per cent, and means much closer."""
    target = Quadratic(event)
    start = 3 + 0.3 * torch.randn(100, *event, generator=generator(1))
    sampler = SVGD(steps=600, step_size=1.0, bandwidth=temperature, temperature=temperature)
    x = run_chain(sampler, target, start, generator(0)).x
    variance = temperature * target.covariance.diagonal()
    assert float(((x.mean(0) - target.mean) / variance.sqrt()).abs().max()) < 0.02
    ratio = x.var(0) / variance
    assert 0.9 < float(ratio.min()) <= float(ratio.max()) < 1.05


def test_few_particles_in_many_dimensions_have_too_small_a_variance():
    """As the documentation says: less than half, with 50 particles in 10 dimensions."""
    target = Quadratic((10,))
    x = run_chain(SVGD(steps=1_000, step_size=1.0), target, target.draws(50, 1), generator(0)).x
    ratio = x.var(0) / target.covariance.diagonal()
    assert 0.02 < float(ratio.mean()) < 0.5


def test_a_particle_goes_to_the_mode_and_equal_ones_stay_together():
    target = Quadratic((2,))
    for n in (1, 3):
        x = run_chain(SVGD(steps=2_000), target, torch.full((n, 2), 4.0), generator(0)).x
        torch.testing.assert_close(x, target.mean.expand(n, 2), rtol=0, atol=1e-6)


def test_exact_draws_hardly_move():
    """By Stein's identity phi is zero in expectation; at n draws it is of the size 1 / sqrt(n)."""
    target = Quadratic((2,))
    for n in (100, 2_500):
        x = target.draws(n, 3)
        phi = (run_chain(SVGD(steps=1, step_size=1.0, bandwidth=1.0), target, x, generator(0)).x - x).norm(dim=1)
        assert float(phi.square().mean().sqrt()) < 1.5 / math.sqrt(n)


def test_its_chains_interact():
    assert SVGD().traits().interacting
