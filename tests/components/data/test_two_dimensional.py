"""The two-dimensional data sets: where points lie, that they are centred, and that randomness is the generator's."""

import math

import pytest
import torch

from ebmkit.components.data.checkerboard import Checkerboard
from ebmkit.components.data.eight_gaussians import EightGaussians
from ebmkit.components.data.rings import Rings
from ebmkit.components.data.spirals import Spirals
from ebmkit.components.data.swiss_roll import SwissRoll
from ebmkit.components.data.two_moons import TwoMoons
from ebmkit.components.metrics.sliced_wasserstein import SlicedWasserstein
from tests.components.oracles import assert_follows, generator
from tests.views import FakeView

ALL = [TwoMoons, EightGaussians, Checkerboard, Rings, Spirals, SwissRoll]
each = pytest.mark.parametrize("cls", ALL, ids=lambda c: c.component_name)


@each
def test_splits_have_their_sizes_and_come_from_the_generator(cls):
    data = cls(size=30, test_size=20)
    train, test = data.load("train", generator(0)), data.load("test", generator(0))
    assert train.x.shape == (30, 2) == (30, *data.event())
    assert test.x.shape == (20, 2)
    assert train.y is None or train.y.shape == (30,)
    torch.manual_seed(5)  # global randomness plays no part
    torch.testing.assert_close(data.load("train", generator(0)).x, train.x, rtol=0, atol=0)
    assert not torch.equal(data.load("train", generator(1)).x, train.x)


@each
def test_centred_and_about_as_wide_as_the_base_of_an_mlp(cls):
    x = cls(size=40_000).load("train", generator(0)).x
    error = x.std(0) / math.sqrt(len(x))
    assert bool((x.mean(0).abs() < 5.5 * error).all())
    assert bool(((x.std(0) > 0.4) & (x.std(0) < 1.6)).all())


@each
def test_float32_unless_told_otherwise(cls):
    torch.set_default_dtype(torch.float32)
    assert cls(size=4).load("train", generator(0)).x.dtype == torch.float32


def test_two_moons_without_noise_lie_on_half_circles():
    x, y = TwoMoons(size=1000, noise=0.0, radius=2.0).load("train", generator(0))
    centre = torch.where(y[:, None] == 0, torch.tensor([-1.0, -0.5]), torch.tensor([1.0, 0.5]))
    torch.testing.assert_close((x - centre).norm(dim=1), torch.full((1000,), 2.0))
    assert bool((torch.where(y == 0, 1, -1) * (x - centre)[:, 1] >= -1e-12).all())
    assert int(y.sum()) == 500


def test_eight_gaussians_stand_on_a_circle():
    x, y = EightGaussians(size=20_000).load("train", generator(0))
    t = 2 * math.pi * y / 8
    white = (x - 2 * torch.stack([t.cos(), t.sin()], 1)) / 0.2
    assert_follows([(white[:, i], torch.special.ndtr) for i in (0, 1)])
    assert sorted(y.unique().tolist()) == list(range(8))


def test_checkerboard_fills_the_dark_fields_evenly():
    x = Checkerboard(size=20_000).load("train", generator(0)).x
    assert float(x.abs().max()) <= 2
    field = (x + 2).floor().long()
    assert bool((field.sum(1) % 2 == 0).all())
    assert len((field[:, 0] * 4 + field[:, 1]).unique()) == 8
    assert_follows([((x[:, i] + 2) / 4, lambda u: u) for i in (0, 1)])
    with pytest.raises(ValueError, match="even number"):
        Checkerboard(fields=3)


def test_rings_are_as_full_as_they_are_long():
    x, y = Rings(size=20_000, noise=0.0).load("train", generator(0))
    torch.testing.assert_close(x.norm(dim=1), 2 / 3 * (y + 1.0))
    share = torch.bincount(y) / 20_000
    assert bool(((share - torch.tensor([1.0, 2.0, 3.0]) / 6).abs() < 0.02).all())


def test_spirals_without_noise_are_their_equation():
    x, y = Spirals(size=1000, noise=0.0, arms=3).load("train", generator(0))
    s = x.norm(dim=1) / 2
    off = torch.atan2(x[:, 1], x[:, 0]) - 2 * math.pi * (1.5 * s + y / 3)
    torch.testing.assert_close(off.cos(), torch.ones(1000))
    assert_follows([(s.square(), lambda u: u)])


def test_swiss_roll_without_noise_winds_outwards():
    x = SwissRoll(size=20_000, noise=0.0).load("train", generator(0)).x
    t_max = 4.5 * math.pi
    t = torch.linspace(1.5 * math.pi, t_max, 100_001)
    mean = (2 / t_max * torch.stack([t * t.cos(), t * t.sin()], 1)).mean(0)
    t_of = (x + mean).norm(dim=1) * t_max / 2
    torch.testing.assert_close(
        torch.stack([t_of * t_of.cos(), t_of * t_of.sin()], 1) * 2 / t_max, x + mean, atol=1e-3, rtol=0
    )
    assert_follows([((t_of - 1.5 * math.pi) / (3 * math.pi), lambda u: u)])


@pytest.mark.parametrize(("cls", "floor"), [(TwoMoons, 0.009), (EightGaussians, 0.021)])
def test_scale_gives_the_measured_distance_between_two_samples(cls, floor):
    def distance(seed):
        x, y = (cls().load("train", generator(2 * seed + k)).x for k in (0, 1))
        return SlicedWasserstein(directions=32).measure(FakeView(x, y, y, seed))["sliced_wasserstein"]

    assert sorted(distance(seed) for seed in range(9))[4] == pytest.approx(floor, rel=0.35)
