"""Energies on which every chain has a temperature of its own."""

import pytest
import torch

from ebmkit.chains.energy import Energy
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.contracts.abilities import Conditionals


@pytest.mark.parametrize("event", [(1,), (2,), (3,), (1, 3, 3)])
def test_every_row_is_divided_by_its_own_temperature(event):
    d = torch.Size(event).numel()
    cold = Energy(Gaussian(mean=(0.5,) * d, shape=event).build(event))
    temperature = torch.tensor([1.0, 2.0, 5.0])
    x = torch.randn(3, *event, generator=torch.Generator().manual_seed(0))
    value, gradient = cold.at(temperature).value_and_grad(x)
    for row in range(3):
        one, slope = cold.value_and_grad(x[row : row + 1])
        torch.testing.assert_close(value[row : row + 1], one / temperature[row])
        torch.testing.assert_close(gradient[row : row + 1], slope / temperature[row])
    torch.testing.assert_close(cold.at(temperature)(x), value)


def test_log_odds_are_divided_too():
    cold = Energy(Boltzmann(weights=((0, -1, 2), (-1, 0, 1), (2, 1, 0)), biases=(0, 1, 0.5)).build((3,)))
    x, sites = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]), torch.tensor([0, 2])
    odds = cold.at(torch.tensor([1.0, 4.0])).ask(Conditionals).log_odds(x, sites)
    torch.testing.assert_close(odds, cold.ask(Conditionals).log_odds(x, sites) / torch.tensor([[1.0], [4.0]]))


def test_what_was_asked_is_counted_once():
    cold = Energy(Gaussian().build((2,)))
    hot, x = cold.at(torch.ones(3)), torch.zeros(3, 2)
    hot(x)
    hot.value_and_grad(x)
    assert cold.evaluations == 2
