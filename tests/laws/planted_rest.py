"""Optimizers, trackers, schedules, and components of any kind that break one law each."""

import dataclasses
import itertools

import torch

from ebmkit.api import Optimizer, Sampler, Schedule, Tracker, component
from ebmkit.testing import components, optimizers, schedules, trackers


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


class Silent:
    def write(self, step, values):
        pass

    def sync(self):
        pass

    def close(self):
        pass


@component("silent")
class Nowhere(Tracker):
    def open(self, folder, records):
        return Silent()


@component("once_only")
class OnceOnly(Tracker):
    def open(self, folder, records):
        (folder / "log").open("x").close()
        return Silent()


def planted_schedule(levels):
    @component("planted")
    class Planted(Schedule):
        def levels(self):
            return levels()

    return Planted()


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
    (optimizers.descends, planted_optimizer(Ascending)),
    (optimizers.is_deterministic, planted_optimizer(Shaken)),
    (optimizers.is_deterministic, planted_optimizer(Numbered)),
    (optimizers.is_saved_as_tensors_and_numbers, planted_optimizer(Forgetful)),
    (optimizers.runs_on_the_device, planted_optimizer(OnTheHost)),
    (trackers.writes_into_the_run_folder, Nowhere()),
    (trackers.goes_on_after_a_break, OnceOnly()),
    (schedules.falls, planted_schedule(lambda: torch.tensor([0.1, 1.0]))),
    (schedules.falls, planted_schedule(lambda: torch.tensor([1.0, 0.0]))),
    (schedules.falls, planted_schedule(lambda: torch.tensor(1.0))),
    (schedules.is_deterministic, planted_schedule(lambda: torch.tensor([float(next(COUNT))]))),
    (schedules.is_deterministic, planted_schedule(lambda: torch.rand(1))),
    (components.is_a_value, Mutable()),
    (components.has_readable_annotations, Unreadable()),
]
