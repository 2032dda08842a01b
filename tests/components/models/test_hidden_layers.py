"""Activations, receptive fields and reconstructions, against sums over hidden states and derivatives, in float64."""

import math

import pytest
import torch

from ebmkit.components.models.dbm import DBM
from ebmkit.components.models.dbn import DBN
from ebmkit.components.models.gaussian_rbm import GaussianRBM
from ebmkit.components.models.rbm import RBM
from tests.components.models.test_hidden_boltzmann import machine
from tests.components.models.test_rbm import LOW, SHAPES, energy_by_hand, joint_states, layer, parameters, table
from tests.components.oracles import generator

both = pytest.mark.parametrize("values", ["binary", "spin"])
shapes = pytest.mark.parametrize(("event", "hidden"), SHAPES, ids=str)


def gaussian(event, hidden, values):
    std = tuple((0.3 + 0.4 * torch.arange(math.prod(event))).tolist())
    return GaussianRBM(**parameters(event, hidden), std=std, values=values)


def gaussian_energy(model, v, h):
    """`E(v, h)` by the formula, of single states."""
    W, b, c, std = (torch.tensor(x) for x in (model.weights, model.visible_biases, model.hidden_biases, model.std))
    return ((v - b).square() / (2 * std.square())).sum() - c @ h - (v / std) @ W @ h


def network(hidden, values, event=(2, 2)):
    """A deep belief network with weights and biases of all sizes."""
    module = DBN(hidden=hidden, values=values).build(event).double()
    with torch.no_grad():
        for number, weights in enumerate(module.parameters()):
            weights.copy_(torch.randn(weights.shape, generator=generator(number)))
    return module


def posterior(energy, h, values):
    """`p(h_j = high | x)` and `E[h | x]`, of energies `(B, 2^H)` of the rows of h."""
    p = (-energy).softmax(1)
    return p @ (h > LOW[values]).double(), p @ h


def log_odds_by_hand(energy, d, means, values):
    """`E(v_i low) - E(v_i high)` of energies that are a function of v and, linearly, of h at its means. The others may
    have any value, because units of a layer do not interact."""
    found = []
    for m in means:
        base = torch.zeros(d)
        low, high = (base.repeat(d, 1).fill_diagonal_(value) for value in (LOW[values], 1.0))
        found.append(energy(torch.cat([low, m.expand(d, -1)], 1)) - energy(torch.cat([high, m.expand(d, -1)], 1)))
    return torch.stack(found)


@both
@shapes
def test_two_layers_of_two_valued_units(event, hidden, values):
    model, d = RBM(**parameters(event, hidden), values=values), math.prod(event)
    module, v, h = model.build(event), layer(d, values), layer(hidden, values)
    energies = energy_by_hand(model, joint_states(event, hidden, values)).view(len(v), -1)
    p, means = posterior(energies, h, values)
    x = v.view(-1, *event)
    (found,) = module.activations(x)
    torch.testing.assert_close(found, p, rtol=0, atol=1e-12)
    expected = log_odds_by_hand(lambda units: energy_by_hand(model, units), d, means, values)
    torch.testing.assert_close(module.reconstruct(x), expected.view_as(x), rtol=0, atol=1e-12)
    (fields,) = module.receptive_fields()
    torch.testing.assert_close(fields, torch.tensor(model.weights).T.reshape(hidden, *event), rtol=0, atol=0)


@both
@shapes
def test_real_units(event, hidden, values):
    model, d = gaussian(event, hidden, values), math.prod(event)
    module, v, h = model.build(event), table(5, d, seed=7), layer(hidden, values)
    p, means = posterior(torch.stack([torch.stack([gaussian_energy(model, x, y) for y in h]) for x in v]), h, values)
    x = v.view(-1, *event)
    (found,) = module.activations(x)
    torch.testing.assert_close(found, p, rtol=0, atol=1e-12)
    # The mean of a Gaussian is where the gradient of its energy is zero.
    for m, mean in zip(means, module.reconstruct(x), strict=True):
        at = mean.detach().flatten().requires_grad_()
        (slope,) = torch.autograd.grad(gaussian_energy(model, at, m), at)
        assert float(slope.abs().max()) < 1e-10
    at = x[:1].clone().requires_grad_()
    (fields,) = module.receptive_fields()
    low = LOW[values]
    for j in range(hidden):
        (slope,) = torch.autograd.grad(module.activations(at)[0].logit()[0, j], at)
        torch.testing.assert_close((1 - low) * fields[j], slope[0], rtol=1e-8, atol=1e-10)


@both
@pytest.mark.parametrize(("event", "hidden"), [((1,), 1), ((3,), 2), ((1, 2, 2), 3)], ids=str)
def test_hidden_units_that_interact(event, hidden, values):
    model, d = machine(event, hidden, values), math.prod(event)
    module, v, h = model.build(event), layer(d, values), layer(hidden, values)
    units = torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)
    p, _ = posterior(module.joint_energy(units).view(len(v), -1), h, values)
    (found,) = module.activations(v.view(-1, *event))
    torch.testing.assert_close(found, p, rtol=0, atol=1e-12)
    (fields,) = module.receptive_fields()
    expected = torch.tensor(model.weights)[d:, :d].reshape(hidden, *event)
    torch.testing.assert_close(fields, expected, rtol=0, atol=0)


@both
@pytest.mark.parametrize("hidden", [(3, 4), (2, 3, 2)], ids=str)
def test_deep_networks_pass_means_through_all_layers(hidden, values):
    """Every layer by itself is a machine of two layers, whose means are those of enumeration."""
    module = network(hidden, values)
    x = layer(4, values).view(-1, 2, 2)
    means, found, fields = x.flatten(1), module.activations(x), module.receptive_fields()
    down = torch.eye(4)
    for number, units in enumerate(hidden):
        rbm, h = module.layers[number], layer(units, values)
        # Linear in v: means stand for states.
        pairs = torch.cat([means.repeat_interleave(len(h), 0), h.repeat(len(means), 1)], 1)
        p, means = posterior(rbm.joint_energy(pairs).view(len(x), -1), h, values)
        torch.testing.assert_close(found[number], p, rtol=0, atol=1e-12)
        down = down @ rbm.weights
        torch.testing.assert_close(fields[number], down.T.reshape(units, 2, 2), rtol=0, atol=1e-12)
    for rbm in reversed(module.layers):
        log_odds = log_odds_by_hand(rbm.joint_energy, len(rbm.visible_biases), means, values)
        low = LOW[values]
        means = low + (1 - low) * log_odds.sigmoid()
    torch.testing.assert_close(module.reconstruct(x), log_odds.view_as(x), rtol=0, atol=1e-12)


@both
def test_a_network_of_one_useful_layer_reconstructs_as_that_layer(values):
    """The second layer copies the first at strong weights: a pass through it changes little."""
    module = network((3, 3), values)
    low = LOW[values]
    with torch.no_grad():
        module.layers[1].weights.copy_(40 * torch.eye(3))
        for biases in (module.layers[1].visible_biases, module.layers[1].hidden_biases):
            biases.fill_(-20 if low == 0 else 0)
        module.layers[0].weights.mul_(60)
    x = layer(4, values).view(-1, 2, 2)
    sure = ((module.layers[0].hidden_means(x) - low) * (1 - module.layers[0].hidden_means(x))).amax(1) < 1e-9
    assert int(sure.sum()) >= 8
    torch.testing.assert_close(module.reconstruct(x)[sure], module.layers[0].reconstruct(x)[sure], rtol=0, atol=1e-4)


@both
def test_layers_of_a_deep_machine_whose_highest_does_not_matter(values):
    """Without connections to h_2, mean field is exact: activations and means are those of enumeration."""
    module = DBM(hidden=(3, 2), values=values, shape=(1, 2, 2)).build((1, 2, 2)).double()
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(torch.randn(parameter.shape, generator=generator(number)))
        module.part("layer_2").single.weights.zero_()
        v, h = layer(4, values), layer(5, values)
        units = torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)
        p, means = posterior(module.joint_energy(units).view(len(v), -1), h, values)
        x = v.view(-1, 1, 2, 2)
        torch.testing.assert_close(torch.cat(module.activations(x), 1), p, rtol=0, atol=1e-12)
        expected = log_odds_by_hand(module.joint_energy, 4, means, values)
        torch.testing.assert_close(module.reconstruct(x), expected.view_as(x), rtol=0, atol=1e-12)
        low, high = module.receptive_fields()
        weights = module.part("layer_1").single.weights
        torch.testing.assert_close(low, weights.T.reshape(3, 1, 2, 2), rtol=0, atol=0)
        assert high.shape == (2, 1, 2, 2)
        assert not high.any()
