"""The chain against the closed form of its special case, and its draws against its density."""

from math import cosh, log, sinh, sqrt

import pytest
import torch
from ebmkit_energies_graph import SpinChain


def states(n):
    return torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * n).view(-1, n)


@pytest.mark.parametrize("chain", [SpinChain(), SpinChain(length=1), SpinChain(length=5, coupling=-0.7, field=0)])
def test_its_density_is_normalised(chain):
    assert float(chain.log_prob(states(chain.length)).exp().sum()) == pytest.approx(1)


def test_couplings_of_neighbours_have_the_transfer_matrix_of_ising():
    """With a decay so fast that only neighbours interact: Z of an open chain, by powers of a 2 x 2 matrix."""
    J, h, n = 0.6, 0.3, 9
    chain = SpinChain(length=n, coupling=J, decay=200, field=h)
    middle = torch.tensor([[J + h, -J], [-J, J - h]]).exp()
    end = torch.tensor([h / 2, -h / 2]).exp()
    z = end @ torch.linalg.matrix_power(middle, n - 1) @ end
    up = chain.log_prob(torch.ones(1, n))
    assert float((n - 1) * J + n * h - up) == pytest.approx(float(z.log()))
    large = cosh(h) + sqrt(sinh(h) ** 2 + torch.tensor(-4 * J).exp().item())
    longer = SpinChain(length=n + 1, coupling=J, decay=200, field=h)
    ratio = float(up - longer.log_prob(torch.ones(1, n + 1))) + J + h
    assert ratio == pytest.approx(J + log(large), abs=1e-3)  # the free energy of a spin, Ising 1925


def test_couplings_fall_as_a_power():
    chain = SpinChain(length=4, coupling=0.5, decay=2, field=0)
    up = torch.ones(1, 4)
    for i, exact in ((0, 2 * 0.5 * (1 + 1 / 4 + 1 / 9)), (1, 2 * 0.5 * (1 + 1 + 1 / 4))):
        flipped = up.clone()
        flipped[0, i] = -1
        assert float(chain.log_prob(up) - chain.log_prob(flipped)) == pytest.approx(exact)


def test_draws_have_its_frequencies():
    """Chi-square of 32 states, at a false-alarm rate of 1e-6: 86 for 31 degrees of freedom."""
    chain = SpinChain(length=5, size=50_000, coupling=0.3)
    x = chain.load("train", torch.Generator().manual_seed(0)).x
    number = ((x + 1) / 2 * 2 ** torch.arange(4, -1, -1)).sum(1).long()
    expected = 50_000 * chain.log_prob(states(5)).exp()
    chi_square = ((torch.bincount(number, minlength=32) - expected) ** 2 / expected).sum()
    assert float(expected.min()) > 20
    assert float(chi_square) < 86
