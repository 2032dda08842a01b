"""Noise distributions that break one law each: the fitted Gaussian with one thing wrong."""

import itertools
import random

import torch

from ebmkit.api import Noise, component
from ebmkit.components.noise.nets.conditional_gaussian import ConditionalGaussian
from ebmkit.components.noise.nets.gaussian_density import GaussianDensity
from ebmkit.testing.laws import noise as laws


def planted(net):
    @component("planted")
    class Planted(Noise):
        def build(self, event, data):
            points = data.flatten(1)
            return net(points.mean(0), torch.cov(points.T).reshape(points.shape[1], -1), event)

    return Planted()


class Column(GaussianDensity):
    def log_prob(self, x):
        return super().log_prob(x)[:, None]


class Single(GaussianDensity):
    def log_prob(self, x):
        return super().log_prob(x).float()


class Centred(GaussianDensity):
    def log_prob(self, x):
        found = super().log_prob(x)
        return found - found.mean() if len(x) else found


class OwnSeeds(GaussianDensity):
    seeds = itertools.count()

    def sample(self, n, rng):
        return super().sample(n, torch.Generator().manual_seed(next(self.seeds)))


class PythonRandom(GaussianDensity):
    def __init__(self, mean, covariance, event):
        super().__init__(mean + random.random(), covariance, event)


class Forgetful(GaussianDensity):
    def __init__(self, mean, covariance, event):
        super().__init__(mean, covariance, event)
        self.constant = float(self.log_norm)

    def log_prob(self, x):
        return super().log_prob(x) + self.log_norm - self.constant


class NotNormalised(GaussianDensity):
    def log_prob(self, x):
        return super().log_prob(x) + 0.01


class Wide(GaussianDensity):
    def sample(self, n, rng):
        return 1.05 * super().sample(n, rng)


class OnTheHost(GaussianDensity):
    def sample(self, n, rng):
        return super().sample(n, rng) + torch.zeros(n, *self.event)


class Learns(GaussianDensity):
    """Though its class does not say so."""

    def __init__(self, mean, covariance, event):
        super().__init__(mean, covariance, event)
        self.shift = torch.nn.Parameter(torch.zeros(()))


class Shuffled(ConditionalGaussian):
    """Draws around the next point instead of the point itself."""

    def sample(self, given, rng):
        return super().sample(given.roll(1, 0), rng)


@component("shuffled")
class ShuffledNoise(Noise):
    offers = frozenset({"conditional", "normalised"})

    def build(self, event, data):
        return Shuffled(0.5)


class Stuck(GaussianDensity):
    """Its draws do not move with what it learns."""

    def __init__(self, mean, covariance, event):
        super().__init__(mean, covariance, event)
        self.shift = torch.nn.Parameter(torch.zeros(()))

    def log_prob(self, x):
        return super().log_prob(x - self.shift)

    def sample(self, n, rng):
        return super().sample(n, rng) + self.shift.detach()


@component("stuck")
class StuckNoise(Noise):
    offers = frozenset({"density", "normalised", "learnable"})

    def build(self, event, data):
        return planted(Stuck).build(event, data)


@component("in_place")
class InPlace(Noise):
    def build(self, event, data):
        data -= data.mean(0)
        return planted(GaussianDensity).build(event, data)


PLANTED = [
    (laws.counts_its_parameters, planted(Learns)),
    (laws.gives_one_number_a_state, planted(Column)),
    (laws.keeps_the_dtype, planted(Single)),
    (laws.treats_states_apart, planted(Centred)),
    (laws.is_deterministic, planted(OwnSeeds)),
    (laws.leaves_the_data_alone, InPlace()),
    (laws.leaves_the_data_alone, planted(PythonRandom)),
    (laws.is_saved_whole, planted(Forgetful)),
    (laws.is_normalised, planted(NotNormalised)),
    (laws.draws_from_its_density, planted(Wide)),
    (laws.goes_row_by_row, ShuffledNoise()),
    (laws.can_be_moved, planted(Learns)),
    (laws.can_be_moved, StuckNoise()),
    (laws.runs_on_the_device, planted(OnTheHost)),
]
