"""Bregman generators that break one law each: the squared error u^2 / 2 with one thing wrong."""

import math

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


@component("shifted")
class Shifted(Squares):
    """A constant that no slope sees."""

    def s0(self, log_u):
        return super().s0(log_u) + 0.1


@component("linear_far_out")
class LinearFarOut(Bregman):
    """Convex where it is commonly looked at."""

    def psi(self, u):
        return torch.where(u < 1e6, u.square() / 2, 1e12 - u.square() / 2 + 1e6 * u)


@component("scaled_data")
class ScaledData(Squares):
    def s1(self, log_u):
        return 0.5 * log_u.exp() + 0.5


@component("cancels")
class Cancels(Squares):
    """Right in float64: a large term is added and subtracted again."""

    def s0(self, log_u):
        return super().s0(log_u) + (log_u + 16).exp() - (log_u + 8).exp() * math.exp(8)


@component("on_the_host")
class OnTheHost(Squares):
    def s1(self, log_u):
        return log_u.exp() + torch.zeros(())


PLANTED = [
    (laws.works_elementwise, Single()),
    (laws.works_elementwise, Normalised()),
    (laws.is_strictly_convex, Concave()),
    (laws.is_a_divergence, Shifted()),
    (laws.stays_finite_far_out, LinearFarOut()),
    (laws.has_the_gradient_of_maximum_likelihood_at_one, ScaledData()),
    (laws.has_the_forms_of_psi, AnotherS0()),
    (laws.has_slopes_in_proportion, AnotherS1()),
    (laws.has_the_gradient_of_differences, Detached()),
    (laws.stays_finite_far_out, Overflows()),
    (laws.keeps_its_digits_in_float32, Cancels()),
    (laws.runs_on_the_device, OnTheHost()),
]
