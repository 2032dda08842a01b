"""The generators: closed forms against the autograd of psi, convexity, minimisers, and far log ratios."""

import math

import pytest
import torch

from ebmkit.components.bregman.exponential import Exponential
from ebmkit.components.bregman.hellinger import Hellinger
from ebmkit.components.bregman.itakura_saito import ItakuraSaito
from ebmkit.components.bregman.kl import KullbackLeibler
from ebmkit.components.bregman.least_squares import LeastSquares
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.bregman.power import Power
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman
from ebmkit.testing import examine
from ebmkit.testing.setting import small_setting
from tests.components.oracles import generator as rng


@component("spherical")
class Spherical(Bregman):
    """The pseudo-spherical score, by psi alone: psi'' is a difference whose digits end far from one."""

    gamma: float = 2.0

    def psi(self, u):
        return (1 + u**self.gamma) ** (1 / self.gamma)


#: Each generator, psi''(1), and psi as it is published, up to a linear function.
TABLE = [
    (Logistic(), 1 / 2, lambda u: u * u.log() - (1 + u) * (1 + u).log()),
    (Logistic(noise_ratio=0.5), 1 / 3, lambda u: u * u.log() - (0.5 + u) * (0.5 + u).log()),
    (Logistic(noise_ratio=3.0), 3 / 4, lambda u: u * u.log() - (3 + u) * (3 + u).log()),
    (KullbackLeibler(), 1.0, lambda u: u * u.log()),
    (LeastSquares(), 1.0, lambda u: u**2 / 2),
    (ItakuraSaito(), 1.0, lambda u: -u.log()),
    (Hellinger(), 1 / 2, lambda u: -2 * u**0.5),
    (Power(), 1.5, lambda u: (u**1.5 - u) / 0.5),
    (Power(beta=1.0), 2.0, lambda u: u**2 - u),
    (Power(beta=0.01), 1.01, lambda u: (u**1.01 - u) / 0.01),
    (Exponential(), math.exp(-1), lambda u: (-u).exp()),
    (Exponential(rate=-0.5), math.exp(-0.5) / 4, lambda u: (-u / 2).exp()),
    (Exponential(rate=0.5), math.exp(0.5) / 4, lambda u: (u / 2).exp()),
]
every = pytest.mark.parametrize(("generator", "curvature", "published"), TABLE, ids=[str(row[0]) for row in TABLE])


@every
def test_closed_forms_are_those_of_psi(generator, curvature, published):
    log_u = torch.linspace(-5, 5, 25)
    torch.testing.assert_close(generator.s0(log_u), Bregman.s0(generator, log_u), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(generator.s1(log_u), Bregman.s1(generator, log_u), rtol=1e-9, atol=1e-9)


@every
def test_derivatives_satisfy_s0_prime_is_u_s1_prime(generator, curvature, published):
    log_u = torch.linspace(-4, 4, 25).requires_grad_()
    (slope0,) = torch.autograd.grad(generator.s0(log_u).sum(), log_u)
    (slope1,) = torch.autograd.grad(generator.s1(log_u).sum(), log_u)
    torch.testing.assert_close(slope0, log_u.detach().exp() * slope1, rtol=1e-10, atol=1e-12)
    assert bool((slope1 > 0).all())  # psi is convex


@every
def test_psi_is_the_published_function_up_to_its_constant(generator, curvature, published):
    u = torch.logspace(-2, 1, 13)
    off = generator.psi(u) - published(u)
    torch.testing.assert_close(off, off[:1].expand_as(off), rtol=1e-10, atol=1e-10)


@every
def test_curvature_at_one_is_the_factor_of_maximum_likelihood(generator, curvature, published):
    """psi''(1), as the slopes of S1 and of S0 there."""
    log_u = torch.zeros(1).requires_grad_()
    for function in (generator.s0, generator.s1):
        (slope,) = torch.autograd.grad(function(log_u).sum(), log_u)
        assert float(slope) == pytest.approx(curvature, abs=1e-12)


@every
def test_the_true_ratio_is_the_minimum(generator, curvature, published):
    """On seven states: the gradient of E_noise S0 - E_data S1 vanishes at log p/q, and nothing is lower."""
    p, q = (torch.rand(7, generator=rng(seed)) + 0.1 for seed in (0, 1))
    p, q = p / p.sum(), q / q.sum()

    def loss(log_u):
        return (q * generator.s0(log_u)).sum() - (p * generator.s1(log_u)).sum()

    truth = (p / q).log()
    at = truth.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(at), at)
    torch.testing.assert_close(slope, torch.zeros(7), rtol=0, atol=1e-10)
    found = torch.zeros(7).requires_grad_()
    descent = torch.optim.LBFGS(
        [found], max_iter=500, tolerance_grad=1e-14, tolerance_change=1e-18, line_search_fn="strong_wolfe"
    )

    def closure():
        descent.zero_grad()
        value = loss(found)
        value.backward()
        return value

    descent.step(closure)
    torch.testing.assert_close(found.detach(), truth, rtol=0, atol=1e-6)
    others = truth + torch.randn(200, 7, generator=rng(2))
    least = torch.stack([loss(other) for other in others]).min()
    assert float(loss(truth)) < float(least)


@pytest.mark.parametrize("generator", [Logistic(), Exponential(), Exponential(rate=-0.5)], ids=str)
def test_far_ratios_stay_finite(generator):
    log_u = torch.tensor([-800.0, 800.0]).requires_grad_()
    for values in (generator.s0(log_u), generator.s1(log_u)):
        assert bool(values.isfinite().all())
        (slope,) = torch.autograd.grad(values.sum(), log_u)
        assert bool(slope.isfinite().all())


def test_small_powers_are_kl():
    log_u = torch.linspace(-5, 5, 25)
    near, limit = Power(beta=1e-9), KullbackLeibler()
    torch.testing.assert_close(near.s0(log_u), limit.s0(log_u), rtol=1e-7, atol=0)
    torch.testing.assert_close(near.s1(log_u), limit.s1(log_u), rtol=0, atol=1e-7)


def test_a_ratio_that_is_no_number_is_not_hidden():
    log_u = torch.tensor([math.nan])
    for generator, _, _ in TABLE:
        assert bool(generator.s0(log_u).isnan().all() and generator.s1(log_u).isnan().all())


def test_a_constant_is_no_generator():
    with pytest.raises(ValueError, match="strictly convex"):
        Exponential(rate=0.0)


@pytest.mark.parametrize(
    ("psi", "words"),
    [
        (lambda u: -(u**2), "not strictly convex: its second derivative at 0.0183 is -2"),
        (lambda u: 3 * u, "not strictly convex: its second derivative at 1 is 0"),
        (lambda u: torch.log(u - 1), "its second derivative at 0.0183 is"),
        (lambda u: (u**2).sum(), "of 33 numbers has shape"),
        (lambda u: torch.from_numpy(u.detach().numpy() ** 2), "torch operations"),
    ],
    ids=["concave", "straight", "not for all ratios", "summed", "elsewhere"],
)
def test_what_is_no_generator_is_refused_before_it_trains(psi, words):
    @component("wrong")
    class Wrong(Bregman):
        def psi(self, u):
            return psi(u)

    with pytest.raises(ValueError, match=words):
        Wrong().prepare(small_setting(torch.nn.Identity()))


def test_every_generator_passes_the_check():
    for generator in (*(row[0] for row in TABLE), *(Spherical(gamma=gamma) for gamma in (1.5, 8.0, 12.0))):
        generator.prepare(small_setting(torch.nn.Identity()))


@pytest.mark.parametrize("gamma", [1.5, 2.0, 3.0, 8.0])
def test_psi_alone_gives_gradients_in_float32(gamma):
    """u^2 psi'' = (gamma - 1) u^gamma (1 + u^gamma)^(1/gamma - 2), from u = e^-20 to e^20."""
    generator = Spherical(gamma=gamma)
    log_u = torch.linspace(-20, 20, 41, dtype=torch.float32, requires_grad=True)
    precise = log_u.detach().double()
    tail = torch.nn.functional.softplus(gamma * precise)  # log(1 + u^gamma)
    wanted = (gamma - 1) * (gamma * precise + (1 / gamma - 2) * tail).exp()
    s0, s1 = generator.s0(log_u), generator.s1(log_u)
    assert s0.dtype == s1.dtype == torch.float32
    (found0,) = torch.autograd.grad(s0.sum(), log_u)
    (found1,) = torch.autograd.grad(s1.sum(), log_u)
    torch.testing.assert_close(found0.double(), wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found1.double(), wanted * (-precise).exp(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("gamma", [1.5, 2.0, 3.0, 8.0])
def test_rounding_of_psi_alone_breaks_no_law_and_is_said(gamma):
    report = examine(Spherical(gamma=gamma))
    assert report.broken == {}
    assert "write s0(log_u) and s1(log_u) in closed form" in report.remarks["keeps_its_digits_in_float32"]
    assert examine(Logistic()).remarks == {}
