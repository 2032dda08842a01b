"""Noise levels against their formula, its limits and published figures."""

import pytest
import torch
from ebmkit_samplers_extra import Karras


def test_a_root_of_the_levels_is_evenly_spaced():
    levels = Karras(sigma_max=5.0, sigma_min=0.02, count=9, rho=3.0).levels()
    steps = (levels ** (1 / 3)).diff()
    torch.testing.assert_close(steps, steps.mean().expand(8))
    torch.testing.assert_close(levels[[0, -1]], torch.tensor([5.0, 0.02]))


def test_its_limits_are_even_distances_and_a_constant_ratio():
    even = Karras(sigma_max=5.0, sigma_min=1.0, count=5, rho=1.0).levels()
    torch.testing.assert_close(even, torch.tensor([5.0, 4.0, 3.0, 2.0, 1.0]))
    geometric = Karras(sigma_max=100.0, sigma_min=0.01, count=5, rho=1e7).levels()
    torch.testing.assert_close(geometric, torch.tensor([100.0, 10.0, 1.0, 0.1, 0.01]), rtol=1e-4, atol=0)


def test_levels_of_the_paper():
    """With 80, 0.002 and rho = 7 half of 19 levels are below 2.53, which is the seventh power of a mean of two."""
    levels = Karras(sigma_max=80.0, sigma_min=0.002, count=19).levels()
    assert float(levels[9]) == pytest.approx(((80 ** (1 / 7) + 0.002 ** (1 / 7)) / 2) ** 7)
    assert 2.5 < float(levels[9]) < 2.56


def test_levels_that_rise_are_refused():
    with pytest.raises(ValueError, match="must be above 'sigma_min', 2"):
        Karras(sigma_max=1.0, sigma_min=2.0)
