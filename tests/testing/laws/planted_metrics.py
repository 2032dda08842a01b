"""Metrics that break one law each."""

import itertools

import torch

from ebmkit.api import Metric, component
from ebmkit.testing.laws import metric as laws


class Spread(Metric):
    needs = frozenset({"samples"})

    def results(self):
        return ("spread",)

    def measure(self, view):
        return {"spread": float(view.samples(100).std())}


@component("unnamed")
class Unnamed(Spread):
    def measure(self, view):
        return {"spread": 1.0, "range": 2.0}


@component("a_tensor")
class ATensor(Spread):
    def measure(self, view):
        return {"spread": view.samples(100).std()}


@component("counting")
class Counting(Spread):
    looks = itertools.count()

    def measure(self, view):
        return {"spread": float(next(self.looks))}


@component("global_noise")
class GlobalNoise(Spread):
    def measure(self, view):
        return {"spread": float(torch.randn(()) * 0)}


@component("in_place")
class InPlace(Spread):
    def measure(self, view):
        x = view.samples(100)
        x -= x.mean(0)
        return {"spread": float(x.std())}


@component("in_place_of_as_many")
class InPlaceOfAsMany(Spread):
    """It asks for another number of samples than the law and other metrics."""

    n: int = 200

    def measure(self, view):
        view.samples(self.n).mul_(10)
        return {"spread": 1.0}


@component("in_place_by_numpy")
class InPlaceByNumpy(Spread):
    def measure(self, view):
        x = view.samples(100).numpy()
        x -= x.mean(0)
        return {"spread": float(x.std())}


@component("in_place_of_the_data")
class InPlaceOfTheData(Spread):
    def measure(self, view):
        view.data("test").mul_(10)
        return {"spread": 1.0}


@component("switches_to_train")
class SwitchesToTrain(Spread):
    def measure(self, view):
        view.parts.model.train(not view.parts.model.training)
        return super().measure(view)


@component("on_the_host")
class OnTheHost(Spread):
    def measure(self, view):
        return {"spread": float((view.samples(100) - torch.zeros(())).std())}


PLANTED = [
    (laws.measures_what_it_names, Unnamed()),
    (laws.measures_what_it_names, ATensor()),
    (laws.is_deterministic, Counting()),
    (laws.is_deterministic, GlobalNoise()),
    (laws.leaves_the_run_alone, InPlace()),
    *((laws.leaves_the_run_alone, InPlaceOfAsMany(n=n)) for n in (150, 199, 200, 500, 1000)),
    (laws.leaves_the_run_alone, InPlaceByNumpy()),
    (laws.leaves_the_run_alone, InPlaceOfTheData()),
    (laws.leaves_the_run_alone, SwitchesToTrain()),
    (laws.runs_on_the_device, OnTheHost()),
]
