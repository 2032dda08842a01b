"""`logistic`: closed forms against the autograd of psi, convexity, and the far ends of the log ratio."""

import pytest
import torch

from ebmkit.bregman.logistic import Logistic
from ebmkit.kinds import Bregman

ratios = pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])


@ratios
def test_closed_forms_are_those_of_psi(ratio):
    generator = Logistic(noise_ratio=ratio)
    log_u = torch.linspace(-6, 6, 25)
    torch.testing.assert_close(generator.s0(log_u), Bregman.s0(generator, log_u))
    torch.testing.assert_close(generator.s1(log_u), Bregman.s1(generator, log_u))


@ratios
def test_derivatives_satisfy_s0_prime_is_u_s1_prime(ratio):
    generator = Logistic(noise_ratio=ratio)
    log_u = torch.linspace(-6, 6, 25).requires_grad_()
    (slope0,) = torch.autograd.grad(generator.s0(log_u).sum(), log_u)
    (slope1,) = torch.autograd.grad(generator.s1(log_u).sum(), log_u)
    torch.testing.assert_close(slope0, log_u.detach().exp() * slope1)
    assert bool((slope1 > 0).all())  # psi is convex


@ratios
def test_psi_is_the_published_function_up_to_its_constant(ratio):
    u = torch.logspace(-3, 3, 13)
    published = u * u.log() - (ratio + u) * (ratio + u).log()
    off = Logistic(noise_ratio=ratio).psi(u) - published
    torch.testing.assert_close(off, off[:1].expand_as(off))


def test_far_ratios_stay_finite():
    log_u = torch.tensor([-800.0, 800.0])
    assert bool(Logistic().s0(log_u).isfinite().all())
    assert bool(Logistic().s1(log_u).isfinite().all())
