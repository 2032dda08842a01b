"""The oracles of the laws, against closed forms."""

import math

import pytest
import torch

from ebmkit.testing import Inapplicable
from ebmkit.testing.oracles import DRAWS, generator, integrate, require_means, require_same_law, require_slope


def gaussian(mean, deviation):
    """The log density, without its constant, of independent coordinates."""
    mean, deviation = torch.tensor(mean, dtype=torch.float64), torch.tensor(deviation, dtype=torch.float64)
    return lambda x: -((x.flatten(1) - mean) / deviation).square().sum(1) / 2


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [
        ((0.0,), (1.0,)),
        ((7.0,), (0.01,)),
        ((-300.0,), (40.0,)),
        ((0.0, 0.0), (0.01, 100.0)),
        ((20.0, -3.0), (0.5, 0.1)),
    ],
)
def test_quadrature_of_a_gaussian(mean, deviation):
    found = integrate(gaussian(mean, deviation), (len(mean),))
    exact = sum(math.log(s) for s in deviation) + len(mean) / 2 * math.log(2 * math.pi)
    assert found.log_z == pytest.approx(exact, abs=1e-9)
    moments = torch.cat([found.mean(found.x), found.mean(found.x.square()).sqrt()])
    expected = [*mean, *(math.hypot(m, s) for m, s in zip(mean, deviation, strict=True))]
    torch.testing.assert_close(moments, torch.tensor(expected, dtype=torch.float64), rtol=1e-7, atol=1e-7)


def test_quadrature_of_image_shaped_states():
    assert integrate(gaussian((0.0, 0.0), (1.0, 1.0)), (1, 2, 1)).log_z == pytest.approx(math.log(2 * math.pi))


def test_what_no_grid_resolves_is_not_guessed():
    def spikes(x):  # narrow, and a thousand times further apart than wide, in both coordinates
        return torch.maximum(gaussian((50.0, 50.0), (1e-3, 1e-3))(x), gaussian((-70.0, 30.0), (1e-3, 1e-3))(x))

    with pytest.raises(Inapplicable, match="no grid"):
        integrate(spikes, (2,))
    with pytest.raises(Inapplicable, match="3 dimensions are too many"):
        integrate(spikes, (3,))


def test_differences_see_a_part_in_a_million():
    x = torch.randn(5, generator=generator(0), dtype=torch.float64)
    require_slope(lambda: x.exp().sum(), [x], [x.exp()], "the slope")
    with pytest.raises(AssertionError, match="the slope is"):
        require_slope(lambda: x.exp().sum(), [x], [x.exp() * (1 + 1e-5)], "the slope")
    assert torch.equal(x, torch.randn(5, generator=generator(0), dtype=torch.float64))


def test_means_are_compared_within_chance():
    draws = torch.randn(DRAWS, 12, generator=generator(1), dtype=torch.float64)
    require_means(draws, torch.zeros(12, dtype=torch.float64), "a mean")
    shifted = draws.clone()
    shifted[:, 7] += 6.5 / math.sqrt(DRAWS)
    with pytest.raises(AssertionError, match="a mean is off by"):
        require_means(shifted, torch.zeros(12, dtype=torch.float64), "a mean")
    require_means(shifted, torch.zeros(12, dtype=torch.float64), "a mean", allowance=0.05)
    other = torch.randn(DRAWS, 12, generator=generator(2), dtype=torch.float64)
    require_same_law(draws, other, "a mean")
    with pytest.raises(AssertionError, match="a mean is off by"):
        require_same_law(draws, other + 9 / math.sqrt(DRAWS), "a mean")
