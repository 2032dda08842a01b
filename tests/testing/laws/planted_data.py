"""Data sets that break one law each."""

import itertools

import torch

from ebmkit.api import Data, Dataset, component
from ebmkit.testing.laws import data as laws


class Points(Data):
    def event(self):
        return (2,)

    def load(self, split, rng):
        return Dataset(torch.randn(20, 2, generator=rng))


@component("flat")
class Flat(Points):
    def load(self, split, rng):
        return Dataset(torch.randn(20, 1, 2, generator=rng))


@component("infinite")
class Infinite(Points):
    def load(self, split, rng):
        return Dataset(super().load(split, rng).x / 0)


@component("not_binary")
class NotBinary(Points):
    space = "binary"


@component("few_labels")
class FewLabels(Points):
    def load(self, split, rng):
        return Dataset(super().load(split, rng).x, torch.zeros(3))


@component("double")
class Double(Points):
    def load(self, split, rng):
        return Dataset(super().load(split, rng).x.double())


@component("own_seeds")
class OwnSeeds(Points):
    seeds = itertools.count()

    def load(self, split, rng):
        return super().load(split, torch.Generator().manual_seed(next(self.seeds)))


@component("global_noise")
class GlobalNoise(Points):
    def load(self, split, rng):
        return super().load(split, torch.default_generator)


@component("one_split")
class OneSplit(Points):
    def load(self, split, rng):
        return super().load(split, torch.Generator().manual_seed(0))


@component("miscounted")
class Miscounted(Points):
    def point_count(self, split):
        return 20 if split == "train" else 19


@component("one_class_too_few")
class OneClassTooFew(Points):
    labelled = True

    def class_count(self):
        return 2

    def load(self, split, rng):
        return Dataset(super().load(split, rng).x, torch.arange(20) % 3)


@component("misnamed")
class Misnamed(Points):
    def coordinate_names(self):
        return ("length", "width", "height")


@component("nameless_class")
class NamelessClass(OneClassTooFew):
    def class_names(self):
        return ("setosa", "virginica")


PLANTED = [
    (laws.names_what_it_loads, Misnamed()),
    (laws.names_what_it_loads, NamelessClass()),
    (laws.counts_what_it_loads, Miscounted()),
    (laws.counts_what_it_loads, OneClassTooFew()),
    (laws.loads_what_it_announces, Flat()),
    (laws.loads_what_it_announces, Infinite()),
    (laws.loads_what_it_announces, NotBinary()),
    (laws.loads_what_it_announces, FewLabels()),
    (laws.makes_float32_by_default, Double()),
    (laws.is_deterministic, OwnSeeds()),
    (laws.is_deterministic, GlobalNoise()),
    (laws.keeps_its_splits_apart, OneSplit()),
]
