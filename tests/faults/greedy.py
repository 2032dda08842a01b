"""A plugin whose components ask for more memory than there is, and are told no in one of several ways."""

from __future__ import annotations

from typing import Any, NamedTuple

from ebmkit.api import (
    Data,
    Dataset,
    Init,
    Loss,
    Metric,
    Model,
    Objective,
    Optimizer,
    Sampler,
    StepInfo,
    component,
    torch,
)

#: Bytes. No machine has so many.
MUCH = 10**15


def ask(how: str) -> Any:
    """Ask torch, numpy or Python for that much, or pretend to be a GPU that was asked."""
    if how == "torch":
        return torch.empty(MUCH, dtype=torch.uint8)
    if how == "numpy":
        import numpy as np

        return np.empty(MUCH, dtype=np.uint8)
    if how == "python":
        return bytearray(MUCH)
    raise torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 8 GiB."
    )


@component("points")
class GreedyPoints(Data):
    """No points."""

    how: str = "torch"

    def event(self):
        return (2,)

    def load(self, split, rng):
        return Dataset(ask(self.how))


@component("net")
class GreedyNet(Model):
    """No network."""

    how: str = "torch"

    def build(self, event):
        return ask(self.how)


@component("loss")
class GreedyLoss(Objective):
    """The mean energy, of which step `at` is one too many."""

    how: str = "torch"
    at: int = 5

    def loss(self, model, batch, context):
        if context.step == self.at:
            ask(self.how)
        return Loss(model(batch).square().mean(), {})


@component("extras")
class GreedyExtras(Objective):
    """An objective that keeps too much."""

    how: str = "torch"

    def extras(self, event, data):
        return ask(self.how)

    def loss(self, model, batch, context):
        raise NotImplementedError


class Stand(NamedTuple):
    """Where the chains stand."""

    x: Any


@component("walk")
class GreedyWalk(Sampler):
    """A chain that does not get far."""

    how: str = "torch"
    steps: int = 2

    def init(self, energy, x, rng):
        return Stand(x)

    def step(self, energy, state, rng):
        ask(self.how)
        return state, StepInfo()


@component("start")
class GreedyStart(Init):
    """Chains that do not begin."""

    how: str = "torch"

    def build(self, event):
        return ask(self.how)


@component("number")
class GreedyNumber(Metric):
    """Nothing to measure."""

    how: str = "torch"

    def results(self):
        return ("number",)

    def measure(self, view):
        return {"number": float(len(ask(self.how)))}


@component("descent")
class GreedyDescent(Optimizer):
    """No room for a moment."""

    how: str = "torch"

    def build(self, parameters):
        how = self.how

        class Descent(torch.optim.SGD):
            def step(self):
                ask(how)

        return Descent(list(parameters))
