"""`gaussian` and `gaussian_mixture`, against torch.distributions, quadrature and their own noise."""

import math

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.samplers.exact import Exact
from tests.components.oracles import (
    EVENTS,
    assert_follows,
    generator,
    normal_cdf,
    quadrature_log_z,
    random_covariance,
    rows,
)

WEIGHTS = (1.0, 2.0, 5.0)


def gaussian(event, seed=0):
    """The component, and the same law from torch.distributions."""
    d = math.prod(event)
    mean, covariance = torch.randn(d, generator=generator(seed)), random_covariance(d, seed)
    component = Gaussian(mean=tuple(mean.tolist()), covariance=rows(covariance), shape=event)
    return component, MultivariateNormal(mean, covariance)


def mixture(event, seed=0):
    d = math.prod(event)
    means = 2 * torch.randn(3, d, generator=generator(seed))
    covariances = torch.stack([random_covariance(d, seed + k) for k in range(3)])
    component = GaussianMixture(
        means=rows(means), covariances=tuple(map(rows, covariances)), weights=WEIGHTS, shape=event
    )
    law = MixtureSameFamily(Categorical(torch.tensor(WEIGHTS)), MultivariateNormal(means, covariances))
    return component, law


both = pytest.mark.parametrize("make", [gaussian, mixture])
shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


@both
@shapes
def test_energy_and_log_z_are_the_log_density(make, event):
    component, law = make(event)
    module = component.build(component.event())
    x = 2 * torch.randn(50, *event, generator=generator(1))
    assert component.event() == event
    torch.testing.assert_close(-module(x) - module.log_z(), law.log_prob(x.flatten(1)))


@pytest.mark.parametrize("covariance", [0.7, (0.7, 0.7, 0.7), ((0.7, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.0, 0.7))])
def test_three_ways_to_write_a_covariance(covariance):
    x = torch.randn(20, 3, generator=generator(1))
    law = MultivariateNormal(torch.zeros(3), 0.7 * torch.eye(3))
    one = Gaussian(mean=(0.0,) * 3, covariance=covariance).build((3,))
    same = GaussianMixture(means=((0.0,) * 3,), covariances=(covariance,)).build((3,))
    torch.testing.assert_close(-one(x) - one.log_z(), law.log_prob(x))
    torch.testing.assert_close(-same(x) - same.log_z(), law.log_prob(x))


def test_one_covariance_and_no_weights_stand_for_all_components():
    short = GaussianMixture(means=((-1.0,), (2.0,)), covariances=(0.5,)).build((1,))
    long = GaussianMixture(means=((-1.0,), (2.0,)), covariances=(0.5, 0.5), weights=(3.0, 3.0)).build((1,))
    x = torch.linspace(-4, 4, 9)[:, None]
    torch.testing.assert_close(short(x), long(x))


@both
@shapes
def test_gradient_by_hand_is_autograd(make, event):
    component, _ = make(event)
    module = component.build(event)
    x = torch.randn(20, *event, generator=generator(2))
    energy, gradient = Energy(module).value_and_grad(x)
    x.requires_grad_()
    (expected,) = torch.autograd.grad(module(x).sum(), x)
    torch.testing.assert_close(energy, module(x).detach())
    torch.testing.assert_close(gradient, expected)
    assert not gradient.requires_grad


@both
@pytest.mark.parametrize("dimension", [1, 2])
def test_log_z_is_the_integral_also_after_training_moved_the_parameters(make, dimension):
    component, _ = make((dimension,))
    module = component.build((dimension,))
    assert float(module.log_z().detach()) == pytest.approx(quadrature_log_z(module, dimension), abs=1e-9)
    rng = generator(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=rng)
    assert float(module.log_z().detach()) == pytest.approx(quadrature_log_z(module, dimension), abs=1e-9)


@both
@shapes
def test_noised_is_the_convolution(make, event):
    component, law = make(event)
    module, sigma = component.build(event), 0.8
    blur = sigma**2 * torch.eye(math.prod(event))
    if make is gaussian:
        expected = MultivariateNormal(law.mean, law.covariance_matrix + blur)
    else:
        parts = law.component_distribution
        expected = MixtureSameFamily(
            law.mixture_distribution, MultivariateNormal(parts.mean, parts.covariance_matrix + blur)
        )
    noised = module.noised(sigma)
    x = 2 * torch.randn(50, *event, generator=generator(1))
    torch.testing.assert_close(-noised(x) - noised.log_z(), expected.log_prob(x.flatten(1)))


@both
@shapes
def test_exact_samples_follow_the_law_on_random_directions(make, event):
    component, law = make(event)
    module, n = component.build(event), 20_000
    x = run_chain(Exact(), module, torch.zeros(n, *event), generator(5)).x
    assert x.shape == (n, *event)
    directions = torch.randn(6, math.prod(event), generator=generator(6))
    parts = law if make is gaussian else law.component_distribution
    weights = torch.ones(1) if make is gaussian else torch.tensor(WEIGHTS) / sum(WEIGHTS)

    def cdf_along(v):
        centre = (parts.mean @ v).view(-1, 1)
        spread = torch.einsum("i,...ij,j->...", v, parts.covariance_matrix, v).sqrt().view(-1, 1)
        return lambda t: (weights[:, None] * normal_cdf((t - centre) / spread)).sum(0)

    assert_follows([(x.flatten(1) @ v, cdf_along(v)) for v in directions])
    if make is gaussian:
        squared = MultivariateNormal(law.mean, law.covariance_matrix)
        distance = -2 * (squared.log_prob(x.flatten(1)) - squared.log_prob(law.mean))
        half = torch.tensor(math.prod(event) / 2)
        assert_follows([(distance, lambda q: torch.special.gammainc(half.expand_as(q), q / 2))])


@both
def test_float32_by_default_and_double_on_request(make):
    torch.set_default_dtype(torch.float32)
    module = make((2,))[0].build((2,))
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert module.sample_exact(3, generator(0)).dtype == torch.float32
    assert module.noised(0.1).log_z().dtype == torch.float32
    module.double()
    assert module.sample_exact(3, generator(0)).dtype == torch.float64
    assert module.noised(0.1).log_z().dtype == torch.float64


@pytest.mark.parametrize(
    ("covariance", "says"),
    [
        (0.0, "not positive"),
        ((1.0, -1.0), "not positive"),
        ((1.0, 1.0, 1.0), "3 coordinates, but the mean has 2"),
        (((1.0, 0.5), (0.4, 1.0)), "not symmetric"),
        (((1.0, 2.0), (2.0, 1.0)), "not positive definite"),
        (((1.0, 1.0), (1.0, 1.0)), "not positive definite"),
        (((1.0, 0.0), (0.0, 0.0)), "not positive definite"),
        (((1.0, 0.0),), "1 coordinates, but the mean has 2"),
        (((1.0, 0.0), (0.0,)), "2 rows of 2"),
        (((1.0, 0.0), 1.0), "2 rows of 2"),
    ],
)
def test_what_is_no_covariance_is_refused(covariance, says):
    with pytest.raises(ValueError, match=says):
        Gaussian(mean=(0.0, 0.0), covariance=covariance)
    with pytest.raises(ValueError, match=says):
        GaussianMixture(means=((0.0, 0.0),), covariances=(covariance,))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"means": ((0.0,), (1.0, 2.0))}, r"means\[1\] has 2 coordinates"),
        ({"means": ((0.0,),) * 3, "covariances": (1.0, 1.0)}, "2 covariances for 3 means"),
        ({"weights": (1.0, 1.0, 1.0)}, "3 weights for 2 means"),
        ({"shape": (3,)}, "has 3 coordinates"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        GaussianMixture(**parameters)


def test_a_nearly_singular_covariance_is_still_one():
    Gaussian(mean=(0.0, 0.0), covariance=((1.0, 0.999999), (0.999999, 1.0)))
