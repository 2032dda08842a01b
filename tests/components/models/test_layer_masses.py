"""Sums over the states of a layer, in blocks of any size, and what they allow a machine of many hidden units."""

import pytest
import torch

from ebmkit.components.models.categorical_rbm import CategoricalRBM
from ebmkit.components.models.nets import layer_masses
from ebmkit.components.models.rbm import RBM


def machine(visible, hidden):
    torch.manual_seed(3)
    module = RBM(hidden=hidden, shape=(visible,)).build((visible,)).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


@pytest.mark.parametrize("block", [1, 24, 70, 1 << 22])
@pytest.mark.parametrize(("visible", "hidden"), [(5, 3), (3, 5)])
def test_blocks_of_any_size_have_the_same_sum_and_gradient(visible, hidden, block, monkeypatch):
    module = machine(visible, hidden)
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * visible)
    expected = (-module(states)).logsumexp(0)
    slopes = torch.autograd.grad(expected, list(module.parameters()))
    monkeypatch.setattr(layer_masses, "BLOCK", block)
    log_z = module.log_z()
    assert float(log_z.detach()) == pytest.approx(float(expected.detach()), abs=1e-12)
    for found, slope in zip(torch.autograd.grad(log_z, list(module.parameters())), slopes, strict=True):
        torch.testing.assert_close(found, slope, rtol=1e-10, atol=1e-12)
    with torch.no_grad():
        assert float(module.log_z()) == pytest.approx(float(expected.detach()), abs=1e-12)


@pytest.mark.parametrize(
    ("smaller", "offered"), [(20, {"log_z", "sample_exact"}), (21, {"log_z"}), (25, {"log_z"}), (26, set())]
)
def test_more_units_are_summed_than_kept_in_a_table(smaller, offered):
    exact = {"log_z", "sample_exact"}
    assert RBM(hidden=smaller, shape=(64,)).traits().offers & exact == offered
    assert RBM(hidden=64, shape=(smaller,)).traits().offers & exact == offered
    assert CategoricalRBM(hidden=smaller, shape=(64,)).traits().offers & exact == offered


@pytest.mark.long
def test_a_machine_of_25_hidden_units_is_one_of_25_visible_units_turned_over():
    module, turned = machine(40, 25), machine(25, 40)
    with torch.no_grad():
        turned.weights.copy_(module.weights.T)
        turned.visible_biases.copy_(module.hidden_biases)
        turned.hidden_biases.copy_(module.visible_biases)
        assert float(module.log_z()) == pytest.approx(float(turned.log_z()), abs=1e-9)
