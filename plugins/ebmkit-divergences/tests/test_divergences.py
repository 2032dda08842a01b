"""The generators against the laws of their kind, against closed forms, and against what the literature says of them."""

import math

import pytest
import torch
from ebmkit_divergences import (
    Alpha,
    ArithmeticGeometric,
    BlendedChiSquare,
    Jeffreys,
    Kaniadakis,
    KDivergence,
    Perimeter,
    Softplus,
)

from ebmkit.api import Bregman
from ebmkit.testing import trials


def quotient(rate, x):
    return (math.exp(rate * x) - 1) / rate if rate else x


def of_alpha(a):
    return lambda u: quotient(a, math.log(u)), lambda u: quotient(a - 1, math.log(u)), lambda u: u ** (a - 2)


def of_perimeter(b):
    k = 1 - 1 / b
    return (
        lambda u: quotient(-k, math.log1p(u**b)),
        lambda u: -quotient(-k, math.log1p(u**-b)),
        lambda u: b * (1 + u**b) ** (1 / b - 2) * u ** (b - 2),
    )


def of_arithmetic_geometric():
    def mean_log(u):
        return math.log1p(u) - math.log(u) / 2 - math.log(2)

    return (
        lambda u: (u - 1) / 4 - mean_log(u) / 2,
        lambda u: (1 - 1 / u) / 4 + mean_log(u) / 2,
        lambda u: (u**2 + 1) / (4 * u**2 * (1 + u)),
    )


def of_blended(a):
    def d(u):
        return a * u + (1 - a)

    return (
        lambda u: -(a * u + d(u)) / (2 * a**2 * d(u) ** 2),
        lambda u: -1 / (2 * a * d(u) ** 2),
        lambda u: d(u) ** -3,
    )


def of_jeffreys(w):
    return (
        lambda u: w * (math.log(u) - 1) + (1 - w) * u,
        lambda u: (1 - w) * (math.log(u) + 1) - w / u,
        lambda u: (1 - w) / u + w / u**2,
    )


def of_softplus(c):
    def s(u):
        return 1 / (1 + math.exp(c * u))

    return (
        lambda u: -c * u * s(u) - math.log1p(math.exp(-c * u)),
        lambda u: -c * s(u),
        lambda u: c**2 * s(u) * (1 - s(u)),
    )


def of_kaniadakis(k):
    def half(u):
        return (u**k + u**-k) / 2

    return (
        lambda u: u * half(u),
        lambda u: (u**k - u**-k) / (2 * k) + half(u),
        lambda u: ((1 + k) * u ** (k - 1) + (1 - k) * u ** (-k - 1)) / 2,
    )


def of_k_divergence():
    return (
        lambda u: u / (1 + u),
        lambda u: math.log(u / (1 + u)) + 1 / (1 + u),
        lambda u: 1 / (u * (1 + u) ** 2),
    )


#: Generator, its closed forms S0, S1 and psi'' in floating-point numbers, as published, and psi''(1).
TABLE = [
    *((Alpha(alpha=a), of_alpha(a), 1.0) for a in (-2.0, -0.5, 0.0, 1e-9, 0.5, 1.0, 1 + 1e-9, 3.0)),
    *((Perimeter(beta=b), of_perimeter(b), b * 2 ** (1 / b - 2)) for b in (0.25, 0.5, 1.0, 1 + 1e-9, 2.0, 4.0)),
    (KDivergence(), of_k_divergence(), 0.25),
    (ArithmeticGeometric(), of_arithmetic_geometric(), 0.25),
    *((BlendedChiSquare(blend=a), of_blended(a), 1.0) for a in (0.05, 0.5, 1.0)),
    *((Jeffreys(weight=w), of_jeffreys(w), 1.0) for w in (0.1, 0.5, 0.9)),
    *((Softplus(rate=c), of_softplus(c), c**2 * math.exp(c) / (1 + math.exp(c)) ** 2) for c in (0.3, 1.0, 2.0)),
    *((Kaniadakis(kappa=k), of_kaniadakis(k), 1.0) for k in (0.25, 0.9)),
]
every = pytest.mark.parametrize(("psi", "forms", "curvature"), TABLE, ids=[str(row[0]) for row in TABLE])
DEFAULTS = [cls() for cls in (Alpha, ArithmeticGeometric, BlendedChiSquare, Jeffreys, KDivergence, Kaniadakis)]
DEFAULTS += [Perimeter(), Softplus()]
#: The ends of the allowed parameters, where numbers are largest.
EXTREME = [Alpha(alpha=-9.0), Alpha(alpha=10.0), Perimeter(beta=0.25), Perimeter(beta=4.0), Kaniadakis(kappa=0.99)]
EXTREME += [BlendedChiSquare(blend=0.05), BlendedChiSquare(blend=1.0), Softplus(rate=100.0), Jeffreys(weight=0.99)]


@pytest.mark.parametrize("trial", trials([*DEFAULTS, Alpha(alpha=-1.0), Perimeter(beta=1.0)]), ids=str)
def test_law(trial):
    trial.run()


@every
def test_terms_and_slopes_are_the_closed_forms(psi, forms, curvature):
    """S0 and S1, and by `dS0 = u^2 psi'' dlog u`, `dS1 = u psi'' dlog u` the gradients that train a model."""
    log_u = torch.linspace(-5, 5, 41, dtype=torch.float64).requires_grad_()
    s0, s1, second = (torch.tensor([form(math.exp(x)) for x in log_u.tolist()], dtype=log_u.dtype) for form in forms)
    u = log_u.detach().exp()
    for found, exact, slope in ((psi.s0(log_u), s0, u**2 * second), (psi.s1(log_u), s1, u * second)):
        torch.testing.assert_close(found, exact, rtol=1e-6, atol=1e-6)
        (by_autograd,) = torch.autograd.grad(found.sum(), log_u)
        torch.testing.assert_close(by_autograd, slope, rtol=1e-6, atol=1e-9)


@every
def test_curvature_at_one(psi, forms, curvature):
    u = torch.ones(1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(psi.psi(u).sum(), u, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), u)
    assert float(second) == pytest.approx(curvature, rel=1e-6)
    assert forms[2](1.0) == pytest.approx(curvature, rel=1e-6)


@pytest.mark.parametrize("psi", [*DEFAULTS, *EXTREME], ids=str)
def test_ratios_from_1e_minus_30_to_1e30_stay_finite(psi):
    log_u = (torch.linspace(-30, 30, 241, dtype=torch.float64) * math.log(10)).requires_grad_()
    assert_finite_and_increasing(psi, log_u)


@pytest.mark.parametrize(
    ("psi", "forms"), [row[:2] for row in TABLE if not isinstance(row[0], Softplus)], ids=lambda value: str(value)[:40]
)
def test_far_ratios_are_right(psi, forms):
    """Also by psi alone, where a difference of large numbers could have cancelled."""
    log_u = torch.tensor([-30.0, -20.0, -8.0, 8.0, 20.0, 30.0], dtype=torch.float64) * math.log(10)
    for found, form in ((psi.s0(log_u), forms[0]), (psi.s1(log_u), forms[1])):
        exact = torch.tensor([form(math.exp(x)) for x in log_u.tolist()], dtype=log_u.dtype)
        torch.testing.assert_close(found, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("psi", DEFAULTS, ids=str)
def test_ratios_from_1e_minus_12_to_1e12_stay_finite_in_single_precision(psi):
    assert_finite_and_increasing(psi, (torch.linspace(-12, 12, 97) * math.log(10)).requires_grad_())


def assert_finite_and_increasing(psi, log_u):
    rounding = 1e-5 if log_u.dtype == torch.float32 else 1e-13
    for values in (psi.s0(log_u), psi.s1(log_u)):
        assert bool(values.isfinite().all())
        (slope,) = torch.autograd.grad(values.sum(), log_u)
        assert bool(slope.isfinite().all())
        assert bool((slope >= -rounding).all())
        assert bool((values.diff() >= -rounding * (1 + values[1:].abs())).all())


@pytest.mark.parametrize("psi", [Perimeter(), Perimeter(beta=4.0), BlendedChiSquare(), Softplus()], ids=str)
def test_what_is_called_bounded_is(psi):
    log_u = torch.tensor([-30.0, -12.0, 0.0, 12.0, 30.0], dtype=torch.float64) * math.log(10)
    for values in (psi.s0(log_u), psi.s1(log_u)):
        assert float(values.max() - values.min()) <= 4
    assert float(KDivergence().s0(log_u).max()) <= 1


# --- what they are for -----------------------------------------------------------------------------------------------


class Network(torch.nn.Module):
    """A small energy of states of any shape."""

    def __init__(self, size):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(size, 5), torch.nn.SiLU(), torch.nn.Linear(5, 1)).double()

    def forward(self, x):
        return self.layers(x.flatten(1)).squeeze(1)


@every
@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 4, 4)], ids=str)
def test_gradient_against_a_copy_of_the_model_is_that_of_maximum_likelihood(event, psi, forms, curvature):
    """`adaptive_bregman` at interval 1: the noise is the model itself, and the factor psi''(1)."""
    module, frozen = Network(math.prod(event)), Network(math.prod(event))
    rng = torch.Generator().manual_seed(1)
    data, noise = (torch.randn(12, *event, generator=rng, dtype=torch.float64) + shift for shift in (0.3, 0.0))
    at_noise, at_data = (frozen(x).detach() - module(x) for x in (noise, data))
    loss = psi.s0(at_noise).mean() - psi.s1(at_data).mean()
    parameters = list(module.parameters())
    exact = torch.autograd.grad(module(data).mean() - module(noise).mean(), parameters, allow_unused=True)
    found = torch.autograd.grad(loss, parameters)
    for slope, of_likelihood in zip(found, exact, strict=True):
        torch.testing.assert_close(slope, curvature * of_likelihood, rtol=1e-6, atol=1e-9)
    assert float(exact[0].norm()) > 1e-2


@pytest.mark.parametrize("psi", [row[0] for row in TABLE], ids=str)
def test_mean_precision_and_log_z_of_a_gaussian_are_recovered(psi):
    """By the expected loss: E(x) = exp(a) (x - b)^2 / 2 with a learned log Z, against a wider Gaussian, both cut off
    where ratios are so far from 1 that some of these generators would have no finite loss."""
    x = torch.linspace(-3, 3, 601, dtype=torch.float64)
    data, noise = (torch.softmax(-(((x - mean) / std) ** 2) / 2, 0) for mean, std in ((0.4, 0.8), (0.0, 1.2)))
    found = torch.tensor([0.0, 0.2, 1.0], dtype=torch.float64, requires_grad=True)  # a, b, log Z
    descent = torch.optim.LBFGS(
        [found], max_iter=1000, tolerance_grad=1e-14, tolerance_change=1e-18, line_search_fn="strong_wolfe"
    )

    def closure():
        descent.zero_grad()
        log_u = -found[0].exp() * (x - found[1]) ** 2 / 2 - found[2] - (noise / 0.01).log()
        value = (noise * psi.s0(log_u)).sum() - (data * psi.s1(log_u)).sum()
        value.backward()
        return value

    descent.step(closure)
    a, b, log_z = found.detach().tolist()
    assert (math.exp(-a / 2), b) == pytest.approx((0.8, 0.4), abs=1e-5)
    exact = torch.logsumexp(-(((x - 0.4) / 0.8) ** 2) / 2, 0) + math.log(0.01)
    assert log_z == pytest.approx(float(exact), abs=1e-5)


def test_members_of_the_families_are_the_generators_that_they_are_said_to_be():
    """Up to a factor and a linear function: by psi'', which that leaves in proportion."""

    def second(psi, u):
        (slope,) = torch.autograd.grad(psi(u).sum(), u, create_graph=True)
        return torch.autograd.grad(slope.sum(), u)[0]

    u = torch.linspace(0.1, 8, 50, dtype=torch.float64, requires_grad=True)
    pairs = [
        (Alpha(alpha=1.0).psi, lambda u: u * u.log()),
        (Alpha(alpha=0.0).psi, lambda u: -u.log()),
        (Alpha(alpha=0.5).psi, lambda u: -4 * u.sqrt()),
        (Alpha(alpha=2.0).psi, lambda u: u**2 / 2),
        (Perimeter(beta=0.5).psi, lambda u: -2 * u.sqrt()),
        (Perimeter(beta=1.0).psi, lambda u: u * u.log() - (1 + u) * (1 + u).log()),
        (Perimeter(beta=2.0).psi, lambda u: 2 * (1 + u**2).sqrt()),
        (BlendedChiSquare(blend=0.5).psi, lambda u: (u - 1) ** 2 / (u + 1)),
        (Jeffreys(weight=0.5).psi, lambda u: (u - 1) * u.log() / 2),
        (Kaniadakis(kappa=1e-6).psi, lambda u: u * u.log()),
    ]
    for ours, published in pairs:
        torch.testing.assert_close(second(ours, u), second(published, u), rtol=1e-7, atol=1e-9)


def test_closed_forms_are_given_for_two_and_derived_for_the_others():
    given = {type(psi).__name__ for psi in DEFAULTS if type(psi).s0 is not Bregman.s0}
    assert given == {"Alpha", "Perimeter"}
