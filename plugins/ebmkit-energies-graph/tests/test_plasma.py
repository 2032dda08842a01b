"""The plasma against integrals of its density, and moments of its draws against closed forms.

Statistical tests have a false-alarm rate of 1e-6 each.
"""

from math import factorial, pi

import pytest
import torch
from ebmkit_energies_graph import Plasma

#: Standard errors of a Gaussian, two-sided, at 1e-6.
SIX = 4.9


def draws(n, points=20_000):
    return Plasma(particles=n, size=points).load("train", torch.Generator().manual_seed(n)).x


def within_errors(values, exact):
    """The mean of independent numbers, in standard errors."""
    assert abs(float(values.mean()) - exact) < SIX * float(values.std()) / len(values) ** 0.5


def test_the_density_of_one_and_of_two_charges_is_normalised():
    line = torch.linspace(-6, 6, 121)
    plane = torch.cartesian_prod(line, line)
    cell = float(line[1] - line[0]) ** 2
    one = Plasma(particles=1).log_prob(plane[:, None]).exp().sum() * cell
    assert float(one) == pytest.approx(1, abs=1e-12)
    # The density of two depends on |x_1 + x_2| and |x_1 - x_2|: the centre is N(0, I/4), their distance integrated.
    r = torch.linspace(1e-9, 14, 20_001)
    x = torch.stack([torch.stack([r / 2, 0 * r], 1), torch.stack([-r / 2, 0 * r], 1)], 1)
    at_rest = Plasma(particles=2).log_prob(x).exp() * 2 * pi * r
    assert float(torch.trapezoid(at_rest, r)) * pi / 2 == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_draws_have_the_virial_of_their_density(n):
    """By partial integration the mean of x . dE/dx = 2 sum |x|^2 - n (n - 1) is the number of coordinates."""
    size = draws(n).square().sum((1, 2))
    within_errors(2 * size - n * (n - 1), 2 * n)


@pytest.mark.parametrize("n", [2, 5])
def test_draws_have_the_radial_density_of_ginibre(n):
    """The squared moduli, without their order, are independent Gamma variables of shapes 1, ..., n (Kostlan)."""
    squared = draws(n).square().sum(2).sum(1)
    within_errors(squared, n * (n + 1) / 2)
    within_errors((squared - n * (n + 1) / 2).square(), n * (n + 1) / 2)
    fourth = draws(n).square().sum(2).square().sum(1)
    within_errors(fourth, sum(k * (k + 1) for k in range(1, n + 1)))


def test_draws_of_two_have_the_distances_of_their_density():
    """r^2 / 2 has the density u exp(-u), a Gamma variable of shape 2."""
    x = draws(2)
    u = (x[:, 0] - x[:, 1]).square().sum(1) / 2
    for power in (1, 2, 3):
        within_errors(u**power, factorial(power + 1))


def test_no_particle_is_special():
    x = draws(5)
    for moment in (x.square().sum(2), x[..., 0], x[..., 1]):
        off = moment - moment.mean(1, keepdim=True)
        for i in range(5):
            within_errors(off[:, i], 0)


def test_a_wrong_temperature_would_be_seen():
    x = draws(4) * 1.02
    size = x.square().sum((1, 2))
    error = float((2 * size).std()) / len(size) ** 0.5
    assert abs(float(size.mean()) * 2 - 12 - 8) > SIX * error
