"""Optimizers, trackers, schedules, and components of any kind that break one law each."""

import dataclasses
import itertools

import torch

from ebmkit.api import Log, Optimizer, Sampler, Schedule, Tracker, component
from ebmkit.testing.laws import (
    every_kind as components,
)
from ebmkit.testing.laws import (
    optimizer as optimizers,
)
from ebmkit.testing.laws import (
    schedule as schedules,
)
from ebmkit.testing.laws import (
    tracker as trackers,
)


def planted_optimizer(optimizer):
    @component("planted")
    class Planted(Optimizer):
        def build(self, parameters):
            return optimizer(parameters, lr=0.01)

    return Planted()


class Ascending(torch.optim.SGD):
    def __init__(self, parameters, lr):
        super().__init__(parameters, lr=lr, maximize=True)


class Shaken(torch.optim.SGD):
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad += torch.randn_like(parameter.grad)
        super().step()


class Numbered(torch.optim.SGD):
    numbers = itertools.count()

    def step(self):
        self.param_groups[0]["lr"] = 0.01 / (1 + next(self.numbers))
        super().step()


class Forgetful(torch.optim.SGD):
    """Its momentum is no part of its state."""

    last = None

    def step(self):
        gradients = [parameter.grad.clone() for parameter in self.param_groups[0]["params"]]
        if self.last:
            for parameter, before in zip(self.param_groups[0]["params"], self.last, strict=True):
                parameter.grad += before
        self.last = gradients
        super().step()


class OnTheHost(torch.optim.SGD):
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad *= HALF
        super().step()


HALF = torch.tensor(0.5)


@component("forgotten")
class Forgotten(Optimizer):
    """Does not count its two moments."""

    def state_count(self):
        return 1

    def build(self, parameters):
        return torch.optim.Adam(parameters)


class Silent(Log):
    def write(self, step, values):
        pass


@component("silent")
class Nowhere(Tracker):
    def open(self, run):
        return Silent()


@component("once_only")
class OnceOnly(Tracker):
    def open(self, run):
        (run.folder / "log").open("x").close()
        return Silent()


class OneOfEach(Silent):
    def __init__(self, folder):
        self.folder = folder

    def picture(self, step, name, png):
        (self.folder / f"{name}-{step}.png").open("x").close()


@component("collector")
class Collector(Tracker):
    """Refuses a picture that it has."""

    def open(self, run):
        return OneOfEach(run.folder)


class Greedy(Silent):
    def write(self, step, values):
        values.clear()


@component("greedy")
class GreedyTracker(Tracker):
    def open(self, run):
        return Greedy()


@component("editor")
class Editor(Tracker):
    def open(self, run):
        run.spec["train"]["steps"] = 0
        return Silent()


@component("duck")
class Duck(Tracker):
    def open(self, run):
        return self


def planted_levels(levels, count=2, prior=1.0):
    @component("planted")
    class Planted(Schedule):
        conditioning = "sigma"

        def levels(self):
            return levels()

        def prior_std(self):
            return prior

    Planted.count = count
    return Planted()


def planted_process(at, prior=1.0, earliest=0.1, fitted=None):
    @component("planted")
    class Planted(Schedule):
        conditioning = "time"
        horizon = 1.0

        def at(self, t):
            return at(t)

        def prior_std(self):
            return prior

        def fitted(self, data):
            return fitted(self, data) if fitted else self

    Planted.earliest = earliest
    return Planted()


@component("hungry")
class Hungry(Schedule):
    """Asks for data after it has had some."""

    needs_data = True

    def levels(self): ...


def doubles(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def written_to(schedule, data):
    data.zero_()
    return schedule


COUNT = itertools.count(1)


@dataclasses.dataclass(unsafe_hash=True)
class Mutable(Sampler):
    """No component: it can be changed."""

    component_name = "mutable"
    steps: int = 1

    def init(self, energy, x, rng): ...

    def step(self, energy, state, rng): ...


@component("unreadable")
class Unreadable(Sampler):
    steps: "Nothing" = 1  # noqa: F821

    def init(self, energy, x, rng): ...

    def step(self, energy, state, rng): ...


PLANTED = [
    (optimizers.counts_its_state, Forgotten()),
    (optimizers.descends, planted_optimizer(Ascending)),
    (optimizers.is_deterministic, planted_optimizer(Shaken)),
    (optimizers.is_deterministic, planted_optimizer(Numbered)),
    (optimizers.is_saved_as_tensors_and_numbers, planted_optimizer(Forgetful)),
    (optimizers.runs_on_the_device, planted_optimizer(OnTheHost)),
    (trackers.writes_next_to_the_run, Nowhere()),
    (trackers.goes_on_after_a_break, OnceOnly()),
    (trackers.goes_on_after_a_break, Duck()),
    (trackers.takes_pictures_and_results, Collector()),
    (trackers.leaves_what_it_is_given, GreedyTracker()),
    (trackers.leaves_what_it_is_given, Editor()),
    (schedules.falls, planted_levels(lambda: doubles(0.1, 1.0))),
    (schedules.falls, planted_levels(lambda: doubles(1.0, 0.0))),
    (schedules.falls, planted_levels(lambda: doubles(1.0, 1.0))),
    (schedules.falls, planted_levels(lambda: doubles(1.0, 0.5), count=3)),
    (schedules.falls, planted_levels(lambda: torch.tensor([1.0, 0.5]))),
    (schedules.falls, planted_levels(lambda: torch.tensor(1.0))),
    (schedules.grows, planted_process(lambda t: (torch.ones_like(t), t), earliest=0.0)),
    (schedules.grows, planted_process(lambda t: (torch.ones_like(t), 1 - t))),
    (schedules.grows, planted_process(lambda t: (torch.ones_like(t), t.float()))),
    (schedules.grows, planted_process(lambda t: (torch.ones(()), t))),
    (schedules.grows, planted_process(lambda t: (torch.ones_like(t), t), earliest=2.0)),
    (schedules.knows_where_it_ends, planted_levels(lambda: doubles(1.0, 0.5), prior=0.5)),
    (schedules.knows_where_it_ends, planted_process(lambda t: (0.1 * torch.ones_like(t), t), prior=2.0)),
    (schedules.takes_from_data_what_it_says, Hungry()),
    (schedules.takes_from_data_what_it_says, planted_process(lambda t: t, fitted=written_to)),
    (schedules.takes_from_data_what_it_says, planted_process(lambda t: t, fitted=lambda self, data: Hungry())),
    (schedules.is_deterministic, planted_levels(lambda: doubles(float(next(COUNT)), 0.1))),
    (schedules.is_deterministic, planted_levels(lambda: torch.rand(2))),
    (schedules.is_deterministic, planted_process(lambda t: (torch.ones_like(t), t + torch.rand(())))),
    (components.is_a_value, Mutable()),
    (components.has_readable_annotations, Unreadable()),
]
