"""Minimum cuts against the enumeration of all cuts."""

from itertools import product

import pytest
import torch

from ebmkit.components.models.nets.ising import lattice
from ebmkit.maths.max_flow import minimum_cut


def generator(seed):
    return torch.Generator().manual_seed(seed)


def value(z, pairs, capacity, supply):
    z = z.double()
    return ((z[..., pairs[0]] - z[..., pairs[1]]).abs() * capacity).sum(-1) - z @ supply


def every_cut(nodes):
    return torch.tensor(list(product((0.0, 1.0), repeat=nodes)), dtype=torch.float64)


def check(pairs, capacity, supply):
    found = minimum_cut(pairs, capacity, supply)
    values = value(every_cut(len(supply)), pairs, capacity, supply)
    assert float(value(found, pairs, capacity, supply)) == pytest.approx(float(values.min()), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_of_nine_pixels_is_the_best_of_all(seed):
    pairs, rng = lattice((3, 3), periodic=False), generator(seed)
    capacity = torch.rand(pairs.shape[1], generator=rng, dtype=torch.float64)
    check(pairs, capacity, 1.5 * torch.randn(9, generator=rng, dtype=torch.float64))


@pytest.mark.parametrize("seed", range(10))
def test_any_graph_is_cut(seed):
    """With pairs of every node and some capacities of zero, that is with nodes of different degrees."""
    pairs, rng = torch.triu_indices(7, 7, 1), generator(seed)
    capacity = torch.rand(21, generator=rng, dtype=torch.float64) * torch.randint(2, (21,), generator=rng)
    check(pairs, capacity, torch.randn(7, generator=rng, dtype=torch.float64))
    check(pairs[:, 3:9], capacity[3:9], torch.randn(7, generator=rng, dtype=torch.float64))


def test_long_detours_are_found():
    """A path of nodes from the only source to the only sink, longer than the sweeps between two relabellings."""
    pairs = torch.stack([torch.arange(99), torch.arange(1, 100)])
    supply = torch.zeros(100, dtype=torch.float64)
    supply[0], supply[-1] = 2.0, -2.0
    capacity = torch.ones(99, dtype=torch.float64)
    capacity[40] = 0.25
    assert torch.equal(minimum_cut(pairs, capacity, supply), torch.arange(100) <= 40)


def test_nodes_without_neighbours_follow_their_supply():
    none = torch.zeros(2, 0, dtype=torch.int64)
    found = minimum_cut(none, torch.zeros(0), torch.tensor([1.0, -2.0, 0.5]))
    assert found.tolist() == [True, False, True]


def test_a_negative_capacity_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        minimum_cut(torch.tensor([[0], [1]]), torch.tensor([-1.0]), torch.zeros(2))
