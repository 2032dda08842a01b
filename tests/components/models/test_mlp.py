"""`mlp`, against a second forward pass and autograd."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.energy import Energy
from ebmkit.components.models.mlp import MLP
from ebmkit.testing.partner import seeded
from tests.components.oracles import EVENTS, generator

ACTIVATIONS = {"silu": nn.SiLU, "softplus": nn.Softplus, "gelu": nn.GELU, "tanh": nn.Tanh, "relu": nn.ReLU}


def reference(module, activation, base_scale):
    layers = [*module.hidden, module.last]
    net = nn.Sequential(*[part for layer in layers for part in (layer, ACTIVATIONS[activation]())][:-1])
    base = 0 if base_scale is None else 1 / (2 * base_scale**2)
    return lambda x: net(x.flatten(1))[:, 0] + base * x.flatten(1).pow(2).sum(1)


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("base_scale", [None, 2.0, 0.5])
def test_energy_and_gradient(event, activation, base_scale):
    module = MLP(hidden=(7, 5), activation=activation, base_scale=base_scale).build(event)
    x = 3 * torch.randn(30, *event, generator=generator(0))
    x.requires_grad_()
    expected = reference(module, activation, base_scale)(x)
    (slope,) = torch.autograd.grad(expected.sum(), x)
    torch.testing.assert_close(module(x), expected)
    energy, gradient = Energy(module).value_and_grad(x)
    torch.testing.assert_close(energy, expected.detach())
    torch.testing.assert_close(gradient, slope)
    assert not gradient.requires_grad


def test_no_hidden_layer_is_linear():
    module = MLP(hidden=(), base_scale=None).build((3,))
    x = torch.randn(4, 3, generator=generator(0))
    torch.testing.assert_close(Energy(module).value_and_grad(x)[1], module.last.weight.detach().expand(4, 3))


def test_the_base_confines():
    far = torch.tensor([[1e3, 0.0], [0.0, -1e3]])
    assert bool((MLP().build((2,))(far) > 1e4).all())


def test_parameters_get_gradients_in_training():
    module = MLP(hidden=(4,)).build((2,))
    module(torch.randn(5, 2)).mean().backward()
    assert all(p.grad is not None and math.isfinite(float(p.grad.sum())) for p in module.parameters())


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_with_spectral_norms_it_cannot_become_steep(event):
    """Every weight has a largest singular value of one, so that no slope exceeds those of tanh, which is one."""
    with seeded(0):  # the power method is slow for weights whose two largest singular values are near each other
        module = MLP(
            hidden=(7, 5), activation="tanh", base_scale=None, spectral_norm=True, power_iterations=1000
        ).build(event)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(50)
    x = 3 * torch.randn(30, *event, generator=generator(0))
    module(x)  # the power method follows in training
    module.eval()
    for layer in (*module.hidden, module.last):
        assert float(torch.linalg.svdvals(layer.weight)[0].detach()) == pytest.approx(1, abs=1e-9)
    energy, gradient = Energy(module).value_and_grad(x)
    assert float(gradient.flatten(1).norm(dim=1).max()) <= 1 + 1e-9
    point = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(point).sum(), point)
    torch.testing.assert_close(gradient, slope)
    torch.testing.assert_close(energy, module(x).detach())


def test_a_module_without_a_gradient_by_hand_is_differentiated():
    class Quartic(nn.Module):
        def forward(self, x):
            return x.flatten(1).pow(4).sum(1)

    x = torch.randn(5, 1, 4, 4, generator=generator(0))
    energy, gradient = Energy(Quartic()).value_and_grad(x)
    torch.testing.assert_close(energy, x.pow(4).sum((1, 2, 3)))
    torch.testing.assert_close(gradient, 4 * x.pow(3))
    assert not energy.requires_grad
