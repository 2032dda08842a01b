"""Data, starts of chains, schedules, metrics and optimizers with one mistake each."""

import itertools

import torch

from ebmkit.api import Data, Dataset, Init, Metric, Optimizer, Schedule, component
from ebmkit.contracts.modules.starts import Starts

CALLS = itertools.count()


# Data -----------------------------------------------------------------------------------------------------------------


@component("cloud")
class Cloud(Data):
    """Right; a planted one overrides one place of it."""

    size: int = 200

    def event(self):
        return (2,)

    def point_count(self, split):
        return self.size

    def load(self, split, rng):
        return Dataset(torch.randn(self.size, 2, generator=rng))


@component("changes_with_each_call")
class ChangesWithEachCall(Cloud):
    def load(self, split, rng):
        return Dataset(super().load(split, rng).x + next(CALLS))


@component("one_split_twice")
class OneSplitTwice(Cloud):
    def load(self, split, rng):
        return super().load(split, torch.Generator().manual_seed(0))


@component("another_shape")
class AnotherShape(Cloud):
    def event(self):
        return (1, 2)


@component("fewer_points")
class FewerPoints(Cloud):
    def load(self, split, rng):
        return Dataset(super().load(split, rng).x[1:])


@component("global_points")
class GlobalPoints(Cloud):
    def load(self, split, rng):
        return Dataset(torch.randn(self.size, 2))


@component("one_point_missing")
class OnePointMissing(Cloud):
    def load(self, split, rng):
        x = super().load(split, rng).x
        x[3, 0] = torch.nan
        return Dataset(x)


# Chain starts ---------------------------------------------------------------------------------------------------------


def planted_init(name, draw, capacity=None):
    class Planted(Starts):
        def __init__(self):
            super().__init__()
            self.last = torch.zeros(())

        def draw(self, like, rng):
            return draw(self, like, rng)

    @component(name)
    class Made(Init):
        def capacity(self):
            return capacity

        def build(self, event):
            return Planted()

    return Made()


def remembering(self, like, rng):
    self.last = self.last + 1
    return torch.empty_like(like).normal_(generator=rng) + self.last


# Schedules ------------------------------------------------------------------------------------------------------------


@component("halving")
class Halving(Schedule):
    """Right, and so is the process below."""

    count: int = 5
    sigma_max: float = 4.0

    def levels(self):
        return self.sigma_max * 0.5 ** torch.arange(self.count, device="cpu", dtype=torch.float64)

    def prior_std(self):
        return self.sigma_max


@component("rises")
class Rises(Halving):
    def levels(self):
        return super().levels()[[0, 2, 1, 3, 4]]


@component("starts_below")
class StartsBelow(Halving):
    def levels(self):
        return super().levels() * 0.9

    def prior_std(self):
        return 0.9 * self.sigma_max


@component("forgetting")
class Forgetting(Schedule):
    horizon = 4.0
    earliest = 1e-3

    def at(self, t):
        return (-t).exp(), (-(-2 * t).expm1()).sqrt()

    def prior_std(self):
        return 1.0


@component("wrong_prior")
class WrongPrior(Forgetting):
    def prior_std(self):
        return 2.0


@component("falls_back")
class FallsBack(Forgetting):
    def at(self, t):
        signal, noise = super().at(t)
        return signal, noise * (1 + 0.5 * (3 * t).sin())


@component("detached_in_time")
class DetachedInTime(Forgetting):
    """Drift and diffusion are derived from it by autograd."""

    def at(self, t):
        signal, noise = super().at(t)
        return signal.detach(), noise


@component("times_on_the_cpu")
class TimesOnTheCPU(Forgetting):
    def at(self, t):
        signal, noise = super().at(t)
        return signal * torch.tensor([1.0], dtype=torch.float64, device="cpu").to(t.dtype), noise


# Metrics --------------------------------------------------------------------------------------------------------------


@component("radius")
class Radius(Metric):
    """Right; a planted one overrides one place of it."""

    needs = frozenset({"samples"})

    def results(self):
        return ("radius",)

    def measure(self, view):
        return {"radius": self.of(view, view.samples(100)).item()}

    def of(self, view, x):
        return x.flatten(1).norm(dim=1).mean()


@component("centres_the_samples")
class CentresTheSamples(Radius):
    def of(self, view, x):
        x -= x.mean(0)
        return super().of(view, x)


@component("trains_the_model")
class TrainsTheModel(Radius):
    def of(self, view, x):
        for parameter in view.model.parameters():
            parameter.data += 0.01
        for buffer in view.model.buffers():
            buffer += 0.01
        return super().of(view, x)


@component("another_name")
class AnotherName(Radius):
    def measure(self, view):
        return {"radii": 1.0}


@component("a_tensor")
class ATensor(Radius):
    def measure(self, view):
        return {"radius": view.samples(100).norm()}


@component("global_choice")
class GlobalChoice(Radius):
    def of(self, view, x):
        return super().of(view, x[torch.randperm(len(x), device=x.device)[:50]])


@component("on_the_cpu")
class OnTheCPU(Radius):
    def of(self, view, x):
        return super().of(view, x * torch.ones(x.shape[1:], device="cpu"))


# Optimizers -----------------------------------------------------------------------------------------------------------


def planted_optimizer(name, build, numbers=2):
    @component(name)
    class Planted(Optimizer):
        def state_count(self):
            return numbers

        def build(self, parameters):
            return build(list(parameters))

    return Planted()


class Shaken(torch.optim.SGD):
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad += 0.01 * torch.randn_like(parameter.grad)
        super().step()


class Forgetful(torch.optim.SGD):
    turn = 0

    def step(self):
        self.turn += 1
        self.param_groups[0]["lr"] = 0.01 / self.turn
        super().step()


TABLE = [
    ChangesWithEachCall(),
    OneSplitTwice(),
    AnotherShape(),
    FewerPoints(),
    GlobalPoints(),
    OnePointMissing(),
    planted_init("the_batch_itself", lambda self, like, rng: like),
    planted_init("global_starts", lambda self, like, rng: torch.randn_like(like)),
    planted_init("one_for_all", lambda self, like, rng: torch.zeros(1, *like.shape[1:], device=like.device)),
    planted_init("starts_on_the_cpu", lambda self, like, rng: torch.zeros(like.shape, dtype=like.dtype, device="cpu")),
    planted_init("remembers_outside_its_buffers", remembering),
    Rises(),
    StartsBelow(),
    WrongPrior(),
    FallsBack(),
    DetachedInTime(),
    TimesOnTheCPU(),
    CentresTheSamples(),
    TrainsTheModel(),
    AnotherName(),
    ATensor(),
    GlobalChoice(),
    OnTheCPU(),
    planted_optimizer("skips_a_group", lambda parameters: torch.optim.SGD(parameters[:1], lr=0.01)),
    planted_optimizer("ascends", lambda parameters: torch.optim.SGD(parameters, lr=0.01, maximize=True)),
    planted_optimizer("shaken", lambda parameters: Shaken(parameters, lr=0.01)),
    planted_optimizer("forgets_its_turn", lambda parameters: Forgetful(parameters, lr=0.01)),
    planted_optimizer("keeps_more", lambda parameters: torch.optim.Adam(parameters, lr=0.01), numbers=1),
]

RIGHT = [
    Cloud(),
    planted_init("standard_normal", lambda self, like, rng: torch.empty_like(like).normal_(generator=rng)),
    Halving(),
    Forgetting(),
    Radius(),
    planted_optimizer("descends_rightly", lambda parameters: torch.optim.SGD(parameters, lr=0.01)),
]
