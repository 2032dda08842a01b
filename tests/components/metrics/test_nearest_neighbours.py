"""The metric `nearest_neighbours`, against all pairs one by one and against the law of a nearest point."""

import math

import pytest
import torch

from ebmkit.components.metrics import neighbours as module
from ebmkit.components.metrics.nearest_neighbours import NearestNeighbours
from ebmkit.components.metrics.neighbours import neighbours
from tests.components.oracles import EVENTS, assert_follows, generator
from tests.views import FakeView

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def pairs(points, among):
    """All distances `(n, m)`, one pair at a time."""
    return torch.tensor([[math.dist(x.flatten().tolist(), y.flatten().tolist()) for y in among] for x in points])


def normal(n, event, seed, scale=1.0):
    return scale * torch.randn(n, *event, generator=generator(seed))


@pytest.mark.parametrize("block", [1, 50, 1 << 22])
@shapes
def test_the_nearest_is_the_nearest_of_all_pairs(event, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    points, among = normal(7, event, 0), normal(23, event, 1)
    found, order = neighbours(points, among), pairs(points, among).sort(1)
    assert torch.equal(found.nearest, order.indices[:, 0])
    torch.testing.assert_close(found.distance, order.values[:, 0], rtol=0, atol=1e-12)
    torch.testing.assert_close(found.next_distance, order.values[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", [1, 1 << 22])
def test_copies_of_the_nearest_are_not_the_next(block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    among = torch.tensor([[3.0], [1.0], [1.0], [5.0], [1.0]])
    found = neighbours(torch.tensor([[0.5], [4.9], [1.0]]), among)
    assert among[found.nearest].flatten().tolist() == [1.0, 5.0, 1.0]
    torch.testing.assert_close(found.distance, torch.tensor([0.5, 0.1, 0.0]))
    torch.testing.assert_close(found.next_distance, torch.tensor([2.5, 1.9, 2.0]))
    assert neighbours(torch.zeros(1, 1), torch.ones(3, 1)).next_distance.tolist() == [math.inf]


def test_only_coordinates_under_a_mask_count():
    points, among = normal(9, (1, 4, 4), 0), normal(30, (1, 4, 4), 1)
    mask = torch.rand(1, 4, 4, generator=generator(2)) < 0.5
    found, masked = neighbours(points, among, mask), neighbours(points[:, mask], among[:, mask])
    assert all(torch.equal(one, two) for one, two in zip(found, masked, strict=True))
    assert not torch.equal(found.nearest, neighbours(points, among).nearest)


def test_close_points_far_from_the_origin_keep_their_distance():
    """In float32 the product |x|^2 - 2xy + |y|^2 would lose it altogether, and find a wrong one."""
    among = 1000 + normal(200, (10,), 0).float()
    apart = torch.full((10,), 0.01).float()
    found = neighbours(among + apart, among)
    assert found.nearest.tolist() == list(range(200))
    exact = (among + apart - among).double().norm(dim=1)
    torch.testing.assert_close(found.distance.double(), exact, rtol=1e-5, atol=0)


@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_among_points_without_a_pattern_the_ratio_to_the_power_d_is_uniform(dimension):
    """Of points uniform in a ball around x, the nearest is uniform in the ball that the next one bounds."""
    rng, draws = generator(dimension), []
    for _ in range(1500):
        direction = torch.randn(20, dimension, generator=rng)
        radius = torch.rand(20, 1, generator=rng) ** (1 / dimension)
        found = neighbours(torch.zeros(1, dimension), radius * direction / direction.norm(dim=1, keepdim=True))
        draws.append((found.distance / found.next_distance) ** dimension)
    assert_follows([(torch.cat(draws), lambda u: u)])


@shapes
def test_medians_and_shares_are_those_of_all_pairs(event):
    """Of samples of which every third is a copy with little noise."""
    train, test = normal(40, event, 0), normal(30, event, 1)
    samples = normal(30, event, 2)
    samples[::3] = train[:10] + normal(10, event, 3, 1e-9)
    found = NearestNeighbours(samples=30, ratio=0.3).measure(FakeView(samples, test, train))
    for points, suffix in ((samples, ""), (test, "_floor")):
        nearest, following = pairs(points, train).sort(1).values[:, :2].T
        low, high = nearest.sort().values[14:16].tolist()
        assert found[f"neighbour_distance{suffix}"] == pytest.approx((low + high) / 2, abs=1e-12)
        assert found[f"memorised{suffix}"] == pytest.approx(float((nearest < 0.3 * following).double().mean()))
    assert found["memorised"] >= 1 / 3
    assert tuple(found) == NearestNeighbours().results()


def test_copies_are_found_and_points_of_the_same_law_are_none():
    """In 16 dimensions, where chance makes hardly any; also where the data have every point twice."""
    event = (1, 4, 4)
    train, test = normal(300, event, 0), normal(300, event, 1)
    train = torch.cat([train, train])
    copied = NearestNeighbours().measure(FakeView(train[:200] + normal(200, event, 2, 0.01), test, train))
    fresh = NearestNeighbours().measure(FakeView(normal(300, event, 3), test, train))
    assert (copied["memorised"], copied["memorised_floor"]) == (1, 0)
    assert copied["neighbour_distance"] < 0.1 * copied["neighbour_distance_floor"]
    assert fresh["memorised"] == 0
    assert fresh["neighbour_distance"] == pytest.approx(fresh["neighbour_distance_floor"], rel=0.1)


def test_one_training_point_has_no_next_one():
    points = normal(5, (2,), 0)
    with pytest.raises(ValueError, match="none is nearer than the next"):
        NearestNeighbours().measure(FakeView(points, points, points[:1].repeat(4, 1)))
