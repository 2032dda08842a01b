"""The loss against a sum over all states, and its minimum."""

from itertools import product

import pytest
import torch
from ebmkit_energies_graph import EnergyDiscrepancy

N, FLIP = 3, 0.2


class Table(torch.nn.Module):
    """An energy for each of eight states."""

    def __init__(self, energies, values):
        super().__init__()
        self.unit_values = values
        self.energies = torch.nn.Parameter(energies)

    def forward(self, x):
        low, high = self.unit_values
        bits = ((x - low) / (high - low)).round().long()
        return self.energies[(bits * torch.tensor([4, 2, 1])).sum(1)]


def energies():
    return torch.randn(8, generator=torch.Generator().manual_seed(5))


def states(values):
    return torch.tensor(list(product(values, repeat=N)))


def exact_loss(module, weights, candidates):
    """The expectation over points, blurred states and all candidates."""
    x = states(module.unit_values)
    differ = (x[:, None] != x).sum(2)
    kernel = FLIP**differ * (1 - FLIP) ** (N - differ)  # of x -> y and of y -> x_j
    energy, total = module(x), 0.0
    for at, y in product(range(8), repeat=2):
        for chosen in product(range(8), repeat=candidates):
            probability = weights[at] * kernel[at, y] * kernel[y, list(chosen)].prod()
            gaps = energy[at] - energy[list(chosen)]
            total = total + probability * ((1 + gaps.exp().sum()) / candidates).log()
    return total


@pytest.mark.parametrize("values", [(-1.0, 1.0), (0.0, 1.0)], ids=["spin", "binary"])
def test_the_loss_is_its_expectation(values):
    module, weights = Table(energies(), values), torch.softmax(-2 * energies(), 0)
    objective = EnergyDiscrepancy(flip=FLIP, candidates=2)
    rng = torch.Generator().manual_seed(6)
    at = torch.multinomial(weights, 400_000, True, generator=rng)
    context = type("Context", (), {"rng": rng})()
    with torch.no_grad():
        losses = [float(objective.loss(module, some, context).value) for some in states(values)[at].split(4_000)]
        exact = float(exact_loss(module, weights, 2))
    error = float(torch.tensor(losses).std()) / len(losses) ** 0.5
    assert abs(sum(losses) / len(losses) - exact) < 5.6 * error  # Student's t of 99 degrees, 1e-6 for two tests
    assert error < 0.01


@pytest.mark.parametrize("candidates", [1, 2])
def test_its_minimum_is_the_truth_for_any_number_of_candidates(candidates):
    truth = energies()
    weights = torch.softmax(-truth, 0)

    def loss(off):
        module = Table(truth + off, (-1.0, 1.0))
        return module, exact_loss(module, weights, candidates)

    module, least = loss(torch.zeros(8))
    (slope,) = torch.autograd.grad(least, module.parameters())
    torch.testing.assert_close(slope, torch.zeros(8), rtol=0, atol=1e-12)
    for k in range(7):
        assert float(loss(0.2 * torch.eye(8)[k])[1].detach()) > float(least.detach()) + 1e-5
