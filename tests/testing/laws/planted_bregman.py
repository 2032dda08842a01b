"""Bregman generators that break one law each: the squared error u^2 / 2 with one thing wrong."""

import torch

from ebmkit.api import Bregman, component
from ebmkit.testing.laws import bregman as laws


class Squares(Bregman):
    def psi(self, u):
        return u.square() / 2

    def s0(self, log_u):
        return (2 * log_u).exp() / 2

    def s1(self, log_u):
        return log_u.exp()


@component("single")
class Single(Squares):
    def s0(self, log_u):
        return super().s0(log_u).float()


@component("normalised")
class Normalised(Squares):
    def psi(self, u):
        return super().psi(u) - super().psi(u).mean()


@component("concave")
class Concave(Bregman):
    def psi(self, u):
        return u.sqrt()


@component("another_s0")
class AnotherS0(Squares):
    def s0(self, log_u):
        return (2 * log_u).exp()


@component("another_s1")
class AnotherS1(Squares):
    def s1(self, log_u):
        return 2 * log_u.exp()


@component("detached")
class Detached(Squares):
    def s1(self, log_u):
        return log_u.detach().exp() * (1 + 0 * log_u) + log_u - log_u.detach()


@component("overflows")
class Overflows(Squares):
    def s0(self, log_u):
        return ((2 * log_u).exp().square() / 4).square().square().square().square() ** (1 / 32)


@component("on_the_host")
class OnTheHost(Squares):
    def s1(self, log_u):
        return log_u.exp() + torch.zeros(())


PLANTED = [
    (laws.works_elementwise, Single()),
    (laws.works_elementwise, Normalised()),
    (laws.is_strictly_convex, Concave()),
    (laws.has_the_forms_of_psi, AnotherS0()),
    (laws.has_slopes_in_proportion, AnotherS1()),
    (laws.has_the_gradient_of_differences, Detached()),
    (laws.stays_finite_far_out, Overflows()),
    (laws.runs_on_the_device, OnTheHost()),
]
