"""`conv_classifier`, against a network of torch's own layers, `classifier` and `conv`."""

import pytest
import torch
from torch import nn

from ebmkit.chains.energy import Energy
from ebmkit.components.models.classifier import Classifier
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_classifier import ConvClassifier
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.contracts.question import Question
from tests.components.oracles import generator

#: (channels, height, width), not all square and not all divisible by the strides.
IMAGES = [(1, 1, 1), (1, 4, 4), (3, 5, 7), (2, 10, 8)]
LAYERS = (ConvLayer(channels=4), ConvLayer(channels=5, kernel=4, stride=2, padding=2))
ACTIVATIONS = {
    "leaky_relu": nn.LeakyReLU(0.2),
    "silu": nn.SiLU(),
    "softplus": nn.Softplus(),
    "gelu": nn.GELU(),
    "tanh": nn.Tanh(),
    "relu": nn.ReLU(),
}
exactly = {"rtol": 1e-11, "atol": 1e-11}


def built(event, seed=0, **parameters):
    torch.manual_seed(seed)
    return ConvClassifier(**{"classes": 3, "layers": LAYERS, **parameters}).build(event)


def images(event, scale=3.0):
    return scale * torch.randn(6, *event, generator=generator(0))


class Summed(nn.Module):
    def forward(self, maps):
        return torch.einsum("bchw->bc", maps)


def reference(module, head, activation):
    """f(x), by other means, and the features in front of its last layer."""
    parts = [part for layer in module.convolutions for part in (layer, ACTIVATIONS[activation])]
    parts += [Summed() if head == "sum" else nn.Flatten()]
    parts += [part for layer in module.dense for part in (layer, ACTIVATIONS[activation])]
    features = nn.Sequential(*parts)
    return features, nn.Sequential(features, module.last)


@pytest.mark.parametrize("event", IMAGES, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("head", "dense", "base_scale"), [("flatten", (6, 5), 2.0), ("sum", (), None), ("flatten", (), 0.5)]
)
def test_one_network_is_a_joint_energy_and_its_conditional(event, activation, head, dense, base_scale):
    module = built(event, activation=activation, head=head, dense=dense, base_scale=base_scale)
    features, f = reference(module, head, activation)
    x = images(event).requires_grad_()
    base = 0 if base_scale is None else x.pow(2).sum((1, 2, 3))[:, None] / (2 * base_scale**2)
    joint = -f(x) + base  # E(x, y)
    torch.testing.assert_close(module.features(x), features(x), **exactly)
    torch.testing.assert_close(module.logits(x).softmax(1), (-joint).softmax(1), **exactly)
    torch.testing.assert_close(module(x), -torch.logsumexp(-joint, 1), **exactly)
    (slope,) = torch.autograd.grad(-torch.logsumexp(-joint, 1).sum(), x)
    energy, gradient = Energy(module).value_and_grad(x.detach())
    assert energy.shape == (6,)
    torch.testing.assert_close(energy, module(x).detach(), **exactly)
    torch.testing.assert_close(gradient, slope, **exactly)


def test_with_one_class_it_is_a_conv():
    event = (2, 10, 8)
    module, conv = built(event, classes=1, dense=(6,)), Conv(layers=LAYERS, dense=(6,), activation="silu").build(event)
    conv.load_state_dict(module.state_dict())
    with torch.no_grad():
        conv.last.weight.neg_()
        conv.last.bias.neg_()
    torch.testing.assert_close(module(images(event)), conv(images(event)), **exactly)


def test_a_window_as_large_as_the_image_makes_it_a_classifier():
    event, units = (1, 4, 4), 7
    module = built(event, layers=(ConvLayer(channels=units, kernel=4, padding=0),))
    dense = Classifier(classes=3, hidden=(units,)).build(event)
    with torch.no_grad():
        dense.hidden[0].weight.copy_(module.convolutions[0].weight.flatten(1))
        dense.hidden[0].bias.copy_(module.convolutions[0].bias)
    dense.last.load_state_dict(module.last.state_dict())
    torch.testing.assert_close(module.logits(images(event)), dense.logits(images(event)), **exactly)
    torch.testing.assert_close(module(images(event)), dense(images(event)), **exactly)


def test_large_logits_do_not_overflow():
    module = built((1, 4, 4), base_scale=None)
    with torch.no_grad():
        module.last.weight.mul_(1e6)
    energy, gradient = Energy(module).value_and_grad(images((1, 4, 4)))
    highest = module.logits(images((1, 4, 4))).max(1).values.detach()
    torch.testing.assert_close(energy, -highest, rtol=1e-9, atol=1e-6)
    assert bool(gradient.isfinite().all())


def test_classes_are_counted_by_the_last_layer():
    assert built((1, 4, 4), classes=7).logits(images((1, 4, 4))).shape == (6, 7)


@pytest.mark.parametrize("event", [(2,), (28, 28)], ids=str)
def test_only_images(event):
    assert "takes images of shape (channels, height, width)" in ConvClassifier().refusal(Question(event, Gaussian()))
    assert ConvClassifier().refusal(Question((1, 8, 8), Gaussian())) is None
