"""The grid of the one quadrature: its box, its weights, and its derivative."""

import math

import pytest
import torch

from ebmkit.maths.quadrature import Grid, log_sum

LOW, HIGH = torch.tensor([-1.0, 0.5], dtype=torch.float64), torch.tensor([2.0, 1.5], dtype=torch.float64)


@pytest.mark.parametrize("d", [1, 2])
def test_a_box_between_corners_is_that_around_its_center(d):
    low, high = LOW[:d], HIGH[:d]
    one, two = Grid.between(low, high, 5), Grid.around((low + high) / 2, (high - low) / 2, 5)
    assert one.x.shape == (5**d, d)
    torch.testing.assert_close(one.x, two.x)
    torch.testing.assert_close(one.log_cell, two.log_cell)
    assert one.x[0].tolist() == low.tolist()
    assert one.x[-1].tolist() == high.tolist()


@pytest.mark.parametrize("d", [1, 2])
def test_ends_of_half_weight_give_the_volume_of_the_box(d):
    grid = Grid.between(LOW[:d], HIGH[:d], 9)
    flat = grid.with_half_ends(grid.log_p(lambda x: torch.zeros(len(x), dtype=x.dtype)))
    assert float((log_sum(flat) + grid.log_cell).exp()) == pytest.approx(3.0, rel=1e-14)


@pytest.mark.parametrize("d", [1, 2])
def test_log_z_of_a_gaussian_and_its_derivative(d):
    """Of E = a x^2 / 2 they are d/2 log(2 pi / a) and -d / (2 a)."""
    a = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    grid = Grid.around(torch.zeros(d, dtype=torch.float64), torch.full((d,), 8.0, dtype=torch.float64), 129)
    log_z = log_sum(grid.log_p(lambda x: a * x.square().sum(1) / 2)) + grid.log_cell
    (slope,) = torch.autograd.grad(log_z, a)
    assert float(log_z.detach()) == pytest.approx(d / 2 * math.log(2 * math.pi / 1.7), abs=1e-12)
    assert float(slope) == pytest.approx(-d / 3.4, abs=1e-12)


def test_a_margin_and_every_second_point():
    log_p = torch.arange(25.0, dtype=torch.float64).view(5, 5).log()
    assert float(log_sum(log_p, every=2).exp()) == pytest.approx(sum((0, 2, 4, 10, 12, 14, 20, 22, 24)))
    assert float(log_sum(log_p, margin=2).exp()) == pytest.approx(12)
