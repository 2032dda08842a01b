"""First and second derivatives in x that score matching is made of, against autograd done otherwise.

The reference never takes the road of the component: a network is written once more with torch's own layers, and its
whole Hessian comes from `torch.autograd.functional.hessian`, state by state.
"""

import copy
import math

import pytest
import torch
from torch import nn

from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.ring import Ring
from ebmkit.components.models.sum import Sum
from ebmkit.maths import smoothness as bends
from ebmkit.maths.laplacian import COLUMNS, gradient, laplacian
from ebmkit.maths.probes import curvature
from tests.components.oracles import generator, random_covariance, rows

ACTIVATIONS = {"silu": nn.SiLU, "softplus": nn.Softplus, "gelu": nn.GELU, "tanh": nn.Tanh, "relu": nn.ReLU}
#: States of shape (1,), (2,), (10,) and of an image, with networks that are wider and narrower than they.
NETWORKS = [((1,), (4, 3)), ((2,), (6, 5, 3)), ((10,), (7, 5)), ((1, 3, 3), (4, 6)), ((2,), (5,)), ((3,), ())]
CLOSE = {"rtol": 1e-10, "atol": 1e-11}


def reference(module, activation, base_scale):
    """The network of torch's own layers, with the same parameters."""
    layers = [*module.hidden, module.last]
    net = nn.Sequential(*[part for layer in layers for part in (layer, ACTIVATIONS[activation]())][:-1])
    base = 0 if base_scale is None else 1 / (2 * base_scale**2)
    return lambda x: net(x.flatten(1))[:, 0] + base * x.flatten(1).square().sum(1)


def by_autograd(energy, x):
    """E `(B,)`, its gradient `(B, d)` and its Hessian `(B, d, d)`, all with their graphs."""
    d = math.prod(x.shape[1:])
    values, slopes, hessians = [], [], []
    for state in x:

        def one(flat, shape=state.shape):
            return energy(flat.view(1, *shape)).squeeze(0)

        flat = state.flatten().clone().requires_grad_()
        values.append(one(flat))
        slopes.append(torch.autograd.functional.jacobian(one, flat, create_graph=True))
        hessians.append(torch.autograd.functional.hessian(one, flat, create_graph=True).view(d, d))
    return torch.stack(values), torch.stack(slopes), torch.stack(hessians)


def slopes_of(value, parameters):
    """One vector of parameter gradients, zero where the value does not depend on them."""
    found = torch.autograd.grad(value, parameters, retain_graph=True, materialize_grads=True)
    return torch.cat([g.flatten() for g in found])


def a_loss(*tensors):
    """A scalar that is made of all entries, bent and each with a weight of its own."""
    rng = generator(11)
    return sum((torch.randn(t.shape, generator=rng) * (t + t.square() / 2)).sum() for t in tensors)


def points(event, n=4):
    return 1.5 * torch.randn(n, *event, generator=generator(0))


def assert_second_derivatives(module, energy, x, parameters):
    """Of `laplacian` and `curvature`: value, gradient, trace, v'Hv, and parameter gradients of a loss made of them."""
    value, slope, hessian = by_autograd(energy, x)
    slope = slope.view_as(x)
    trace = hessian.diagonal(dim1=1, dim2=2).sum(1)
    v = torch.randn(3, *x.shape, generator=generator(5))
    flat = v.flatten(2)
    bent = torch.einsum("kbi,bij,kbj->kb", flat, hessian, flat).mean(0)
    for found, second in ((laplacian(module, x), trace), (curvature(module, x, v), bent)):
        torch.testing.assert_close(found[0], slope, **CLOSE)
        torch.testing.assert_close(found[1], second, **CLOSE)
        exact = slopes_of(a_loss(slope, second), parameters)
        torch.testing.assert_close(slopes_of(a_loss(*found), parameters), exact, **CLOSE)
    for by_hand, second in (("laplacian", (trace,)), ("curvature", (bent, v))):
        if hasattr(module, by_hand):
            found = getattr(module, by_hand)(x, *second[1:])
            torch.testing.assert_close(found[0], value, **CLOSE)
            exact = slopes_of(a_loss(value, slope, second[0]), parameters)
            torch.testing.assert_close(slopes_of(a_loss(*found), parameters), exact, **CLOSE)


# --- mlp: pushed forward ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("event", "hidden"), NETWORKS, ids=str)
@pytest.mark.parametrize("base_scale", [None, 0.7])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_of_a_network(activation, base_scale, event, hidden):
    torch.manual_seed(0)
    module = MLP(hidden=hidden, activation=activation, base_scale=base_scale).build(event)
    energy = reference(module, activation, base_scale)
    assert_second_derivatives(module, energy, points(event), list(module.parameters()))


@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
@pytest.mark.parametrize("event", [(2,), (10,), (1, 3, 3)], ids=str)
def test_of_a_network_with_spectral_norm(event, training):
    """In training mode every pass moves u and v, once: the reference makes its own single pass from the same ones."""
    torch.manual_seed(0)
    module = MLP(hidden=(6, 5), base_scale=0.7, spectral_norm=True).build(event)
    with torch.no_grad():
        for parameter in module.parameters():  # as after some steps: the estimate of sigma lags behind
            parameter.add_(torch.randn(parameter.shape, generator=generator(1)), alpha=0.3)
    module.train(training)
    x, parameters, buffers = points(event), list(module.parameters()), dict(module.named_buffers())
    start = copy.deepcopy(buffers)
    with torch.no_grad():
        module(x)
    after = copy.deepcopy(buffers)
    assert training is any(bool((after[name] != start[name]).any()) for name in start)
    value, slope, hessian = by_autograd(module.eval(), x)  # with u and v as one pass left them
    slope, trace = slope.view_as(x), hessian.diagonal(dim1=1, dim2=2).sum(1)
    v = torch.randn(2, *x.shape, generator=generator(5))
    bent = torch.einsum("kbi,bij,kbj->kb", v.flatten(2), hessian, v.flatten(2)).mean(0)
    module.train(training)
    for name, second, more in (("laplacian", trace, ()), ("curvature", bent, (v,))):
        for key, buffer in buffers.items():
            buffer.copy_(start[key])
        found = getattr(module, name)(x, *more)
        for a, b in zip(found, (value, slope, second), strict=True):
            torch.testing.assert_close(a, b, **CLOSE)
        for key, buffer in buffers.items():
            torch.testing.assert_close(buffer, after[key], rtol=0, atol=0, msg=key)
        exact = slopes_of(a_loss(value, slope, second), parameters)
        torch.testing.assert_close(slopes_of(a_loss(*found), parameters), exact, **CLOSE)


@pytest.mark.parametrize("event", [(2,), (10,)], ids=str)
def test_blocks_of_rows_change_nothing(event, monkeypatch):
    """Jacobians are pushed some rows at a time: the last block is smaller, and one row may be a block."""
    torch.manual_seed(0)
    module, x = MLP(hidden=(6, 5)).build(event), points(event, 7)
    whole = module.laplacian(x)
    exact = slopes_of(a_loss(*whole), list(module.parameters()))
    for block in (1, 3 * min(event[0], 6) * 5):
        monkeypatch.setattr(bends, "CPU_BLOCK", block)
        found = module.laplacian(x)
        for a, b in zip(found, whole, strict=True):
            torch.testing.assert_close(a, b, **CLOSE)
        torch.testing.assert_close(slopes_of(a_loss(*found), list(module.parameters())), exact, **CLOSE)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_has_its_derivatives_everywhere(activation):
    """By three passes of autograd where those are exact, and finite with the right limits far out."""
    z = torch.linspace(-15, 15, 120).requires_grad_()
    value = ACTIVATIONS[activation]()(z)
    (slope,) = torch.autograd.grad(value.sum(), z, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), z, create_graph=True, materialize_grads=True)
    third = torch.zeros_like(z)
    if second.requires_grad:
        (third,) = torch.autograd.grad(second.sum(), z, materialize_grads=True)
    bend = bends.BENDS[activation](z)
    for found, exact in zip(bend, (value, slope, second), strict=True):
        torch.testing.assert_close(found, exact, rtol=0, atol=1e-13)
    if activation != "relu":
        (found,) = torch.autograd.grad(bend.curvature.sum(), z)
        torch.testing.assert_close(found, third, rtol=0, atol=1e-13)
    far = torch.tensor([-800.0, -60.0, 60.0, 800.0])
    bend = bends.BENDS[activation](far)
    ends = (-1.0, 1.0, 0.0) if activation == "tanh" else (0.0, 800.0, 1.0)
    assert [*bend.value[[0, 3]].tolist(), float(bend.slope[3])] == pytest.approx(ends, abs=1e-12)
    torch.testing.assert_close(bend.curvature, torch.zeros(4), rtol=0, atol=1e-12)


# --- the others: differentiated twice --------------------------------------------------------------------------------


def mixture(event):
    d = math.prod(event)
    means = torch.randn(2, d, generator=generator(3))
    covariances = (rows(random_covariance(d, 0)), rows(random_covariance(d, 1)))
    return GaussianMixture(means=rows(means), covariances=covariances, weights=(1.0, 2.0), shape=event)


def conv(**changes):
    return Conv(layers=(ConvLayer(channels=3), ConvLayer(channels=2, stride=2)), dense=(4,), **changes)


GENERIC = {
    "gaussian-1": (Gaussian(mean=(0.3,), covariance=0.5), (1,)),
    "mixture-1": (mixture((1,)), (1,)),
    "mixture-2": (mixture((2,)), (2,)),
    "mixture-10": (mixture((10,)), (10,)),
    "mixture-image": (mixture((1, 3, 3)), (1, 3, 3)),
    "sum-2": (Sum(components=(Ring(), DoubleWell(), MLP(hidden=(5, 4))), weights=(1.0, 0.5, 2.0)), (2,)),
    "sum-image": (Sum(components=(mixture((1, 3, 3)), MLP(hidden=(5,)))), (1, 3, 3)),
    "conv-softplus": (conv(activation="softplus"), (1, 4, 4)),
    "conv-silu-sum": (conv(activation="silu", head="sum"), (2, 3, 3)),
    "conv-more-pixels-than-columns": (conv(activation="tanh", base_scale=None), (1, 5, 5)),
    "conv-flat": (conv(activation="leaky_relu"), (1, 4, 4)),
}


@pytest.mark.parametrize(("model", "event"), GENERIC.values(), ids=GENERIC)
def test_of_any_module(model, event):
    torch.manual_seed(0)
    module = model.build(event)
    assert_second_derivatives(module, module, points(event, 3), list(module.parameters()))


def test_there_are_more_pixels_than_columns_somewhere():
    """And not a whole number of times as many."""
    assert any(math.prod(event) > COLUMNS and math.prod(event) % COLUMNS for _, event in GENERIC.values())


@pytest.mark.parametrize("probed", [False, True], ids=["laplacian", "curvature"])
def test_of_a_spectral_norm_in_training(probed):
    """u and v are moved by one pass and no more; for the gradient they are constants."""
    torch.manual_seed(0)
    module = conv(activation="silu", spectral_norm=True).build((1, 4, 4)).train()
    x, twin = points((1, 4, 4), 3), copy.deepcopy(module)
    with torch.no_grad():
        twin(x)
    twin.eval()
    _, slope, hessian = by_autograd(twin, x)
    v = torch.randn(2, *x.shape, generator=generator(5))
    second = hessian.diagonal(dim1=1, dim2=2).sum(1)
    if probed:
        second = torch.einsum("kbi,bij,kbj->kb", v.flatten(2), hessian, v.flatten(2)).mean(0)
    found = curvature(module, x, v) if probed else laplacian(module, x)
    exact = slopes_of(a_loss(slope.view_as(x), second), list(twin.parameters()))
    torch.testing.assert_close(slopes_of(a_loss(*found), list(module.parameters())), exact, **CLOSE)
    for (name, a), b in zip(module.named_buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, msg=name)


class Tilt(nn.Module):
    """Linear in x."""

    def __init__(self, event):
        super().__init__()
        self.slope = nn.Parameter(torch.randn(math.prod(event), generator=generator(2)))

    def forward(self, x):
        return x.flatten(1) @ self.slope


@pytest.mark.parametrize("event", [(1,), (10,), (1, 5, 5)], ids=str)
def test_an_energy_without_curvature_has_none(event):
    module, x = Tilt(event), points(event)
    slope, trace = laplacian(module, x)
    torch.testing.assert_close(slope, module.slope.view(1, *event).expand_as(x))
    assert bool((trace == 0).all())
    assert bool((curvature(module, x, torch.randn(2, *x.shape))[1] == 0).all())


def test_the_batch_keeps_no_graph():
    """Derivatives are taken at a point of their own: neither the batch nor its history is touched."""
    module, x = mixture((2,)).build((2,)), points((2,))
    point, slope = gradient(module, x)
    assert not x.requires_grad
    assert point.requires_grad
    assert slope.requires_grad
    x.requires_grad_()
    (history,) = torch.autograd.grad(laplacian(module, x)[1].sum(), x, allow_unused=True)
    assert history is None
