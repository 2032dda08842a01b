"""`gaussian` noise: fitted and given."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal

from components.oracles import EVENTS, assert_follows, generator, normal_cdf, random_covariance, rows
from ebmkit.noise.gaussian import GaussianNoise


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("inflate", [1.0, 1.2])
def test_fitted_noise_has_the_moments_of_the_data(event, inflate):
    d = math.prod(event)
    data = torch.randn(500, d, generator=generator(0)) @ random_covariance(d, 1) + 3
    density = GaussianNoise(inflate=inflate).build(event, data.view(-1, *event))
    centred = data - data.mean(0)
    law = MultivariateNormal(data.mean(0), inflate * centred.T @ centred / 499)
    x = torch.randn(20, *event, generator=generator(2))
    torch.testing.assert_close(density.log_prob(x), law.log_prob(x.flatten(1)))
    drawn = density.sample(20_000, generator(3))
    assert drawn.shape == (20_000, *event)
    white = torch.linalg.solve_triangular(law.scale_tril, (drawn.flatten(1) - law.mean).T, upper=False)
    assert_follows([(white[i], normal_cdf) for i in {0, d - 1}])
    assert not list(density.parameters())


def test_given_noise_ignores_the_data():
    covariance = random_covariance(2, 0)
    noise = GaussianNoise(mean=(1.0, 2.0), covariance=rows(covariance))
    density = noise.build((2,), torch.randn(10, 2))
    x = torch.randn(5, 2, generator=generator(1))
    law = MultivariateNormal(torch.tensor([1.0, 2.0]), covariance)
    torch.testing.assert_close(density.log_prob(x), law.log_prob(x))
    assert noise.event() == (2,)
    assert GaussianNoise().event() is None


def test_what_cannot_work_is_refused():
    with pytest.raises(ValueError, match="together"):
        GaussianNoise(mean=(0.0,))
    with pytest.raises(ValueError, match="'inflate' widens a fitted covariance"):
        GaussianNoise(mean=(0.0,), covariance=1.0, inflate=2.0)
    with pytest.raises(ValueError, match="do not span"):
        GaussianNoise().build((2,), torch.ones(10, 2))
