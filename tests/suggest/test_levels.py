"""Noise levels that suit data, against distribution functions, recursions and sums that are written anew here."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.suggest.levels import (
    EXCESS,
    least_sigma,
    overlap,
    published_ratio,
    radial_density,
    ratio,
    steps_for,
    suggest,
    variance_after,
    width_after,
)
from tests.components.oracles import generator

DIMENSIONS = [1, 2, 10, 64, 3072]


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_of_the_larger_noise_the_wanted_share_is_within_three_deviations_of_the_smaller(d, share):
    gamma = ratio(d, share)
    larger = NormalDist(gamma * math.sqrt(d), gamma / math.sqrt(2))
    mean, deviation = math.sqrt(d), 1 / math.sqrt(2)
    assert gamma > 1
    assert larger.cdf(mean + 3 * deviation) - larger.cdf(mean - 3 * deviation) == pytest.approx(share, abs=1e-10)


@pytest.mark.parametrize("d", [5, 10, 64, 3072])
def test_the_published_ratio_solves_the_published_equation(d):
    gamma, a = published_ratio(d), math.sqrt(2 * d)
    share = NormalDist().cdf(a * (gamma - 1) + 3 * gamma) - NormalDist().cdf(a * (gamma - 1) - 3 * gamma)
    assert share == pytest.approx(0.5, abs=1e-10)
    assert gamma > ratio(d)


def test_in_few_dimensions_there_is_no_published_ratio_and_in_many_both_agree():
    assert [published_ratio(d) for d in (1, 2, 3, 4)] == [None] * 4
    assert math.log(published_ratio(3072)) == pytest.approx(math.log(ratio(3072)), rel=0.05)
    # The paper has 232 levels from 50 to 0.01 on CIFAR-10.
    assert math.log(50 / 0.01) / math.log(ratio(3072)) + 1 == pytest.approx(232, rel=0.03)


@pytest.mark.parametrize(
    ("d", "gamma"), [(1, 1.05), (1, 3.0), (2, 1.05), (2, 3.0), (10, 1.05), (10, 1.5), (10, 2.5), (64, 1.05), (64, 1.3)]
)
def test_overlap_is_that_of_two_gaussians(d, gamma):
    """By 100,000 draws of each. One of nine such means is off by 5.5 standard errors in 3 of 10 million cases."""
    n, rng = 100_000, np.random.default_rng(d)
    # |x| is enough to know both densities.
    square = {sigma: sigma**2 * rng.chisquare(d, n) for sigma in (1.0, gamma)}

    def log_density(squared, sigma):
        return -squared / (2 * sigma**2) - d * math.log(sigma)

    # The integral of min(p, q) is that of min(1, q / p) under p; half from either side.
    inside = np.minimum(1, np.exp(log_density(square[1.0], gamma) - log_density(square[1.0], 1.0)))
    outside = np.minimum(1, np.exp(log_density(square[gamma], 1.0) - log_density(square[gamma], gamma)))
    found = (inside.mean() + outside.mean()) / 2
    error = math.hypot(inside.std(), outside.std()) / (2 * math.sqrt(n))
    assert abs(overlap(d, gamma) - found) < 5.5 * error
    assert overlap(d, 1 / gamma) == pytest.approx(overlap(d, gamma), abs=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_overlap_is_the_area_below_both_of_the_laws_that_are_drawn(d):
    gamma = ratio(d)
    width = 8 / math.sqrt(d)
    log_r = torch.linspace(math.log(math.sqrt(d)) - 3 * width, math.log(gamma * math.sqrt(d)) + width, 100_001).double()
    laws = torch.stack([radial_density(d, sigma, log_r) for sigma in (1.0, gamma)])
    assert torch.trapezoid(laws, log_r).tolist() == pytest.approx([1, 1], abs=1e-6)
    assert float(torch.trapezoid(laws.amin(0), log_r)) == pytest.approx(overlap(d, gamma), abs=1e-6)
    assert overlap(d, 1.0) == 1
    assert overlap(d, 1 + 1e-12) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("gamma", [1.0376, 1.265, 2.0])
def test_the_step_leaves_the_variance_as_near_to_that_of_the_level_as_any(gamma):
    steps = steps_for(gamma)
    # What the sampler does to the variance, step by step, with alpha = size sigma^2 on a single point of data.
    sigma, size = 0.3, steps.size

    def behind(size):
        variance = (gamma * sigma) ** 2
        for _ in range(steps.count):
            alpha = size * sigma**2
            variance = (1 - alpha / sigma**2) ** 2 * variance + 2 * alpha
        return variance / sigma**2

    assert behind(size) == pytest.approx(steps.variance, rel=1e-12)
    assert behind(size) == pytest.approx(variance_after(gamma, steps.count, size), rel=1e-12)
    assert 1 < steps.variance <= 1 + EXCESS
    assert min(abs(behind(s) - 1) for s in np.linspace(1e-4, 0.999, 2000)) >= steps.variance - 1 - 1e-12
    if steps.count > 5:
        assert min(variance_after(gamma, steps.count - 1, s) for s in np.linspace(1e-4, 0.999, 2000)) > 1 + EXCESS


def test_the_published_step_on_cifar_10_is_found():
    """232 levels from 50 to 0.01, 5 steps a level, eps = 6.2e-6 (arXiv:2006.09011, table 4)."""
    steps = steps_for((50 / 0.01) ** (1 / 231))
    assert steps.count == 5
    assert float(f"{steps.size * 0.01**2:.2g}") == 6.2e-6


@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 4, 4)])
def test_all_of_it_by_brute_force(event):
    x = torch.randn(300, *event, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3 + 1
    image = len(event) == 3
    found = suggest(x, image=image)
    flat, d = x.flatten(1), math.prod(event)
    apart = (flat[:, None] - flat[None]).square().sum(2).sqrt()
    radius = apart.sort(1).values[:, 3].median()  # 3 of 299 others, behind itself
    least = (x.max() - x.min()) / 100 if image else radius / (10 * math.sqrt(d))
    assert found.sigma_max == float(f"{apart.max():.3g}")
    assert found.sigma_min == float(f"{least:.3g}")
    assert (found.points, found.coordinates) == (300, d)
    assert found.ratio ** (found.count - 1) == pytest.approx(found.sigma_max / found.sigma_min, rel=1e-12)
    assert found.ratio <= ratio(d) < (found.sigma_max / found.sigma_min) ** (1 / max(1, found.count - 2))
    assert found.offset == pytest.approx(float(flat.mean(0).norm()) / math.sqrt(d), rel=1e-10)
    assert found.deviation == pytest.approx(float(flat.var(0, correction=0).mean().sqrt()), rel=1e-10)
    assert found.step_size == pytest.approx(steps_for(found.ratio).size * found.sigma_min**2, rel=0.01)


def test_the_least_noise_does_not_depend_on_how_many_points_there_are():
    rng = torch.Generator().manual_seed(2)
    few, many = (least_sigma(torch.randn(n, 2, generator=rng), image=False).sigma for n in (1000, 30_000))
    assert few == pytest.approx(many, rel=0.15)


def test_copies_are_not_near():
    x = torch.tensor([0.0, 1.0, 3.0]).repeat(200).unsqueeze(1)
    assert least_sigma(x, image=False).sigma == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("shift", "scale", "fits", "far"),
    [(0.0, 1.0, True, False), (3.0, 1.0, False, False), (0.0, 9.0, False, False), (50.0, 1.0, False, True)],
)
def test_data_that_lie_elsewhere_are_noticed(shift, scale, fits, far):
    x = torch.randn(500, 2, generator=torch.Generator().manual_seed(3)) * scale + shift
    found = suggest(x, image=False)
    assert (found.unit_variance, found.far_from_zero) == (fits, far)


@pytest.mark.parametrize(("steps", "size"), [(31, 0.09), (100, 0.1), (7, 0.3), (1, 0.02)])
def test_the_width_that_is_foretold_is_that_of_chains(steps, size):
    """Over 20,000 chains in two coordinates a variance has a standard error of 0.7 %; five of them are allowed."""
    schedule = Geometric(sigma_max=6.0, sigma_min=0.05, count=8)
    gamma = (6.0 / 0.05) ** (1 / 7)
    module = NoisedMixtureModel(schedule=schedule, means=((0.0, 0.0),)).build((2,))
    sampler = AnnealedLangevin(schedule=schedule, steps_per_level=steps, step_size=size * 0.05**2, denoise=False)
    x = run_chain(sampler, module, torch.zeros(20_000, 2), generator(0)).x
    foretold = width_after(gamma, 6.0, 8, 1.0, steps, size) * (1 + 0.05**2)
    assert float(x.var()) == pytest.approx(foretold, rel=0.035)


def test_steps_that_are_suggested_leave_wide_data_nearly_as_wide_as_they_are():
    found = suggest(torch.randn(2000, 2, generator=generator(0), dtype=torch.float64), image=False)
    assert 1 < found.width <= 1.1
    size = found.step_size / found.sigma_min**2
    again = width_after(found.ratio, found.sigma_max, found.count, found.deviation, found.steps_per_level, size)
    assert again == pytest.approx(found.width, rel=0.01)  # but for the three digits that are printed


@pytest.mark.parametrize("offset", [1e2, 1e4, -3e4], ids="{:g}".format)
def test_levels_do_not_depend_on_where_float32_data_are(offset):
    """The same rounded points, at their place and moved back in float64, which is exact."""
    xi = torch.randn(400, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float32)
    data = (xi + 4.0 * (torch.arange(400) % 2).unsqueeze(1)).float() + offset
    there, here = suggest(data, image=False), suggest(data.double() - offset, image=False)
    for name in ("sigma_max", "sigma_min", "deviation", "count", "steps_per_level", "step_size"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-9), name
