"""Steps against a singular value decomposition and the definition of steepest descent."""

import pytest
import torch
from ebmkit_energies_graph import SpectralDescent
from ebmkit_energies_graph.spectral_steps import steepest

SHAPES = [(5,), (), (4, 6), (6, 4), (1, 3), (3, 4, 2)]


def gradient(shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def norm(step):
    """The largest singular value of any matrix, or the largest entry."""
    return torch.linalg.matrix_norm(step, 2).max() if step.dim() > 1 else step.abs().max()


def dual_norm(g):
    """The most that a step of norm one can gain: the sum of singular values, or of entries."""
    return torch.linalg.matrix_norm(g, "nuc").sum() if g.dim() > 1 else g.abs().sum()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_step_gains_the_dual_norm_at_norm_one(shape):
    g = gradient(shape)
    step = steepest(g)
    assert float(norm(step)) == pytest.approx(1)
    assert float((step * g).sum()) == pytest.approx(float(dual_norm(g)))


def test_directions_without_gradient_stay():
    g = gradient((4, 1)) @ gradient((1, 6))
    step = steepest(g)
    assert int(torch.linalg.matrix_rank(step)) == 1
    torch.testing.assert_close(step, g / torch.linalg.matrix_norm(g, 2))
    assert not steepest(torch.zeros(3, 2)).any()


def test_momentum_is_a_running_mean():
    weight = torch.nn.Parameter(torch.zeros(3, 2))
    optimizer = SpectralDescent(lr=0.1, momentum=0.8).build([weight])
    first, second = gradient((3, 2)), gradient((2, 3)).T
    for g in (first, second):
        weight.grad = g.clone()
        optimizer.step()
    expected = -0.1 * (steepest(first) + steepest(0.8 * first + second))
    torch.testing.assert_close(weight.detach(), expected)


def test_it_is_not_slowed_down_by_scales_that_differ():
    """A quadratic whose curvatures differ by ten thousand: gradient descent at its stable rate would take as many
    steps, spectral descent takes those that the distance needs."""
    target = gradient((4, 4))
    u, _, vh = torch.linalg.svd(gradient((4, 4)).T)
    scales = torch.tensor([1.0, 0.1, 0.01, 1e-4])
    weight = torch.nn.Parameter(torch.zeros(4, 4))
    optimizer = SpectralDescent(lr=0.02, momentum=0.0).build([weight])
    for step in range(400):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / 400)
        optimizer.zero_grad()
        off = u.T @ (weight - target) @ vh.T
        (scales[:, None] * off.square()).sum().backward()
        optimizer.step()
    assert float((weight.detach() - target).abs().max()) < 0.01
