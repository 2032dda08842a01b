"""Draws from a model: the model's own, of the right law, and from the given generator alone."""

import math

import pytest
import torch

from ebmkit.api import Model, component
from ebmkit.components.data.from_model import FromModel
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import assert_follows, assert_mean, generator, normal_cdf, random_covariance, rows


class RandomShift(torch.nn.Module):
    """Standard normal around a random point, which its initialiser draws from torch's own generator."""

    def __init__(self, event):
        super().__init__()
        self.centre = torch.nn.Parameter(torch.randn(event))

    def forward(self, x):
        return (x - self.centre).square().flatten(1).sum(1) / 2

    def sample_exact(self, n, rng):
        return self.centre + torch.empty(n, *self.centre.shape).normal_(generator=rng)


@component("random_shift")
class RandomShiftModel(Model):
    offers = frozenset({"energy", "gradient", "sample_exact"})

    def event(self):
        return (3,)

    def build(self, event):
        return RandomShift(event)


@component("coins")
class Coins(RandomShiftModel):
    space = "binary"


@component("shapeless")
class Shapeless(RandomShiftModel):
    def event(self):
        return None


@pytest.mark.parametrize(
    "model", [Gaussian(mean=(1.0,)), GaussianMixture(), Gaussian(mean=(0.0,) * 16, shape=(1, 4, 4))]
)
def test_points_are_the_draws_of_the_module(model):
    data = FromModel(model=model, size=50, test_size=20)
    assert data.event() == model.event()
    for split, n in (("train", 50), ("test", 20)):
        x, y = data.load(split, generator(3))
        assert torch.equal(x, model.build(model.event()).sample_exact(n, generator(3)))
        assert y is None
        assert not x.requires_grad
    assert not torch.equal(data.load("train", generator(4)).x, data.load("train", generator(3)).x)


def test_the_law_in_one_dimension():
    x = FromModel(model=Gaussian(mean=(2.0,), covariance=0.25), size=20_000).load("train", generator(0)).x
    assert_follows([(2 * (x[:, 0] - 2), normal_cdf)])


@pytest.mark.parametrize("dimension", [2, 10])
def test_mean_and_covariance(dimension):
    covariance = random_covariance(dimension, seed=1)
    mean = torch.linspace(-1, 1, dimension)
    data = FromModel(model=Gaussian(mean=tuple(mean.tolist()), covariance=rows(covariance)), test_size=20_000)
    x = data.load("test", generator(0)).x
    assert_mean(x, mean)
    centred = x - mean
    assert_mean((centred[:, :, None] * centred[:, None, :]).flatten(1), covariance.flatten())


def test_both_splits_come_from_one_model_whatever_the_global_generator():
    data = FromModel(model=RandomShiftModel(), size=10_000)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    train = data.load("train", generator(0)).x
    assert torch.equal(torch.get_rng_state(), before)  # and nobody's numbers are used up
    torch.manual_seed(2)
    assert torch.equal(data.load("train", generator(0)).x, train)
    test = data.load("test", generator(1)).x
    assert not train.requires_grad
    assert not torch.equal(train, test)
    error = math.sqrt(2 / 10_000)
    assert bool(((train.mean(0) - test.mean(0)).abs() < 6 * error).all())


def test_the_space_is_the_model_s():
    assert FromModel().traits().space == "real"
    assert FromModel(model=Coins()).traits().space == "binary"


@pytest.mark.parametrize(("model", "words"), [(MLP(), "cannot be sampled exactly"), (Shapeless(), "takes its shape")])
def test_models_that_cannot_make_data_are_refused(model, words):
    with pytest.raises(ValueError, match=f"model '{model.component_name}' {words}"):
        FromModel(model=model)


def spec(model):
    data = {"use": "from_model", "model": model, "size": 40, "test_size": 30}
    return {"ebmkit": 1, "device": "cpu", "data": data, "model": "mlp", "sampler": "langevin"}


def test_a_spec_is_built_on_it():
    from ebmkit.engine.build import build

    torch.set_default_dtype(torch.float32)
    plan = load_spec(spec({"use": "gaussian", "mean": [0.0] * 4, "shape": [2, 2]}))
    assert plan.event == (2, 2)
    parts = build(plan)
    assert parts.train.shape == (40, 2, 2)
    assert parts.test.shape == (30, 2, 2)


def test_a_truth_that_cannot_be_sampled_is_a_mistake_of_the_spec():
    with pytest.raises(Mistakes, match="E108 data 'from_model': model 'mlp' cannot be sampled exactly") as caught:
        load_spec(spec("mlp"))
    assert caught.value.exit_status == 2
