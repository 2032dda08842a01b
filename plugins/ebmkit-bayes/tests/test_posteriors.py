"""Energies against the densities of torch.distributions, and moments against other ways to integrate."""

import math

import pytest
import torch
from ebmkit_bayes import Dirichlet, EightSchools, EightSchoolsCentred, LogisticRegression
from ebmkit_bayes.eight_schools_energy import EFFECTS, ERRORS
from torch.distributions import Bernoulli, HalfCauchy, Normal, StickBreakingTransform

MODELS = [EightSchools(), EightSchoolsCentred(), LogisticRegression(), Dirichlet()]


@pytest.fixture(autouse=True)
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def built(model):
    return model.build(model.event())


def states(model, n=50):
    return torch.randn(n, *model.event(), generator=torch.Generator().manual_seed(0))


def schools(mu, log_tau, theta):
    """`-log p(y, mu, log tau, theta)`."""
    tau = log_tau.exp()
    prior = Normal(0, 5.0).log_prob(mu) + HalfCauchy(5.0).log_prob(tau) + log_tau
    schools = Normal(mu[:, None], tau[:, None]).log_prob(theta) + Normal(theta, torch.tensor(ERRORS)).log_prob(
        torch.tensor(EFFECTS)
    )
    return -(prior + schools.sum(1))


def test_the_centred_energy_is_the_joint_density():
    x = states(EightSchoolsCentred())
    expected = schools(x[:, 0], x[:, 1], x[:, 2:])
    torch.testing.assert_close(built(EightSchoolsCentred())(x), expected, rtol=1e-12, atol=0)


def test_the_non_centred_energy_has_the_jacobian_of_theta():
    x = states(EightSchools())
    theta = x[:, :1] + x[:, 1:2].exp() * x[:, 2:]
    expected = schools(x[:, 0], x[:, 1], theta) - 8 * x[:, 1]  # d theta / d eta = tau, eight times
    torch.testing.assert_close(built(EightSchools())(x), expected, rtol=1e-12, atol=0)


def test_both_parametrisations_have_the_same_quantities():
    x = states(EightSchools())
    centred = torch.cat([x[:, :2], x[:, :1] + x[:, 1:2].exp() * x[:, 2:]], 1)
    torch.testing.assert_close(built(EightSchools()).quantities(x), built(EightSchoolsCentred()).quantities(centred))


#: posteriordb, reference draws of eight_schools-eight_schools_noncentered: mu, tau, theta[1..8], and their errors.
PUBLISHED = (4.41051834, 3.60205952, 6.15050229, 4.93958114, 3.90590609, 4.79601675, 3.61443632, 4.05114758, 6.31716976,
             4.88399694)  # fmt: skip
ERRORS_OF_PUBLISHED = (0.03303747, 0.03186151, 0.05573753, 0.04622938, 0.05423137, 0.04749358, 0.04614506, 0.04851954,
                       0.04987668, 0.05425116)  # fmt: skip


#: Of eight_schools-eight_schools_centered there: means of the squares, and their errors.
PUBLISHED_SQUARES = (30.40302, 23.20407, 69.36345, 45.9787, 43.13923, 45.76135, 34.35767, 39.4135, 64.93269, 52.12845)
ERRORS_OF_SQUARES = (0.3351356, 0.4848872, 1.1692102, 0.6346494, 0.6539418, 0.6193689, 0.4550489, 0.5390213, 0.9216132,
                     0.9024748)  # fmt: skip


def test_the_moments_of_the_eight_schools_are_those_of_posteriordb():
    exact = built(EightSchools()).reference()
    off = (exact.mean - torch.tensor(PUBLISHED)).abs() / torch.tensor(ERRORS_OF_PUBLISHED)
    assert float(off.max()) < 3  # of ten: exceeded once in 40 such tables
    squares = exact.mean.square() + exact.std.square()
    off = (squares - torch.tensor(PUBLISHED_SQUARES)).abs() / torch.tensor(ERRORS_OF_SQUARES)
    assert float(off.max()) < 3


def test_the_moments_of_the_eight_schools_by_another_way():
    """A grid over mu and log tau, on which the schools are independent: theta by the density of y_j given both."""
    mu, log_tau = torch.linspace(-35, 45, 801), torch.linspace(-14, 9, 1151)
    cell = float((mu[1] - mu[0]) * (log_tau[1] - log_tau[0]))
    y, sigma = torch.tensor(EFFECTS), torch.tensor(ERRORS)
    m, tau = mu[:, None, None], log_tau.exp()[None, :, None]
    likelihood = Normal(m, (sigma**2 + tau**2).sqrt()).log_prob(y).sum(2)
    prior = Normal(0, 5.0).log_prob(mu)[:, None] + (HalfCauchy(5.0).log_prob(log_tau.exp()) + log_tau)[None, :]
    joint = (likelihood + prior).exp() * cell
    evidence = joint.sum()
    weight = joint / evidence
    shrink = sigma**2 / (sigma**2 + tau**2)
    theta = y + shrink * (m - y)
    variance = sigma**2 * (1 - shrink)
    first = torch.cat([(weight * mu[:, None]).sum().view(1), (weight * tau[..., 0]).sum().view(1),
                       (weight[..., None] * theta).sum((0, 1))])  # fmt: skip
    second = torch.cat([(weight * mu[:, None] ** 2).sum().view(1), (weight * tau[..., 0] ** 2).sum().view(1),
                        (weight[..., None] * (theta**2 + variance)).sum((0, 1))])  # fmt: skip
    exact = built(EightSchools()).reference()
    torch.testing.assert_close(first, exact.mean, rtol=1e-5, atol=0)
    torch.testing.assert_close((second - first**2).sqrt(), exact.std, rtol=1e-5, atol=0)
    assert math.isclose(float(evidence.log()), float(built(EightSchools()).log_z()), abs_tol=1e-5)


def test_the_energy_of_logistic_regression_is_the_joint_density():
    model = LogisticRegression(prior_scale=1.5)
    module, x = built(model), states(model)
    coefficients = module.quantities(x)
    from ebmkit_bayes.beetles import DIED, DOSES

    logits = coefficients[:, :1] + coefficients[:, 1:] * torch.tensor(DOSES)
    likelihood = Bernoulli(logits=logits).log_prob(torch.tensor(DIED, dtype=torch.float64)).sum(1)
    expected = -(likelihood + Normal(0, 1.5).log_prob(x).sum(1))
    torch.testing.assert_close(module(x), expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize("scale", [2.5, 0.3])
def test_the_moments_of_logistic_regression_by_a_plain_grid(scale):
    module = built(LogisticRegression(prior_scale=scale))
    a, b = torch.linspace(-3, 3, 401), torch.linspace(-2, 8, 401)
    grid = torch.cartesian_prod(a, b)
    weight = (-module(grid) + 190).exp() * (a[1] - a[0]) * (b[1] - b[0])
    total, quantities = weight.sum(), module.quantities(grid)
    mean = (weight[:, None] * quantities).sum(0) / total
    std = ((weight[:, None] * (quantities - mean) ** 2).sum(0) / total).sqrt()
    exact = module.reference()
    torch.testing.assert_close(mean, exact.mean, rtol=1e-8, atol=0)
    torch.testing.assert_close(std, exact.std, rtol=1e-8, atol=0)
    assert math.isclose(float(total.log() - 190), float(module.log_z()), abs_tol=1e-8)


def test_the_maximum_likelihood_of_the_beetles_is_that_of_the_literature():
    """With a wide prior the mean is close to the estimates of Dobson and Barnett, -60.72 (5.18) and 34.27 (2.91)."""
    exact = built(LogisticRegression(prior_scale=100.0)).reference()
    assert abs(float(exact.mean[0]) + 60.72) < 0.15 * 5.18
    assert abs(float(exact.mean[1]) - 34.27) < 0.15 * 2.91
    torch.testing.assert_close(exact.std, torch.tensor([5.18, 2.91]), rtol=0.03, atol=0)


@pytest.mark.parametrize("a", [(4.0, 2.0, 0.5), (0.5, 3.0), (1.0, 1.0, 1.0, 1.0)])
def test_stick_breaking_is_that_of_torch(a):
    model = Dirichlet(concentration=a)
    module, x, transform = built(model), states(Dirichlet(concentration=a)), StickBreakingTransform()
    p = transform(x)
    torch.testing.assert_close(module.quantities(x), p)
    density = torch.distributions.Dirichlet(torch.tensor(a)).log_prob(p) + transform.log_abs_det_jacobian(x, p)
    torch.testing.assert_close(module(x), -density)
    exact = torch.distributions.Dirichlet(torch.tensor(a))
    torch.testing.assert_close(module.reference().mean, exact.mean)
    torch.testing.assert_close(module.reference().std, exact.variance.sqrt())


def test_stick_breaking_stays_finite_far_out():
    x = torch.tensor([[60.0, -60.0], [-700.0, 700.0]], requires_grad=True)
    energy = built(Dirichlet())(x)
    (gradient,) = torch.autograd.grad(energy.sum(), x)
    assert bool(energy.isfinite().all() and gradient.isfinite().all())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.component_name)
def test_every_quantity_has_a_name(model):
    assert built(model).quantities(states(model)).shape == (50, len(model.quantity_names()))
    assert len(set(model.quantity_names())) == len(model.quantity_names())
