"""A plugin that makes numbers which are not finite, each at its own place and at step `at`.

A `value` is `nan`, `inf` or `-inf`. Nothing else about these components is unusual.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ebmkit.api import (
    Bregman,
    Data,
    Dataset,
    Init,
    Loss,
    Metric,
    Model,
    Noise,
    Objective,
    Optimizer,
    Sampler,
    StepInfo,
    component,
    hookimpl,
    torch,
)

#: The steps that ended, of all runs of this process.
ENDED: list[int] = []

#: Set by a test: behind this step the hook writes a nan into the running mean.
MEAN_AT: list[int] = []


@hookimpl
def ebmkit_step_ended(view, step):
    ENDED.append(step)
    if step in MEAN_AT:
        with torch.no_grad():
            view.parts.mean.module.last.bias.fill_(torch.nan)


@component("loss")
class PoisonedLoss(Objective):
    """The mean square of the energy and a learnt offset; `where` is the loss or one of its metrics."""

    where: str = "loss"
    at: int = 0
    value: str = "nan"

    def extras(self, event, data):
        extras = torch.nn.Module()
        extras.offset = torch.nn.Parameter(torch.zeros(()))
        return extras

    def loss(self, model, batch, context):
        offset = context.extras.offset
        value = (model(batch) - offset).square().mean()
        if context.step == self.at and self.where == "offset":
            value = value + (offset - offset.detach()).sqrt()  # zero, and its slope is infinite
        found = {"first": value.detach(), "second": value.detach(), "loss": value}
        if context.step == self.at and self.where in found:
            found[self.where] = found[self.where] + float(self.value)
        return Loss(found.pop("loss"), found)


@component("net")
class PoisonedNet(Model):
    """Two layers. At its pass `at` in training mode the energy of one point goes wrong, or the gradient of `weight`."""

    at: int = 0
    value: str = "nan"
    weight: str | None = None

    def build(self, event):
        from torch import nn

        class Net(nn.Module):
            def __init__(self, made):
                super().__init__()
                self.made, self.passes = made, 0
                self.first, self.last = nn.Linear(2, 4), nn.Linear(4, 1)

            def forward(self, x):
                self.passes += self.training
                wrong = self.training and self.passes == self.made.at
                if wrong and self.made.weight:
                    weight = self.get_parameter(self.made.weight)
                    weight.register_hook(lambda gradient: gradient * float(self.made.value))
                energy = self.last(torch.tanh(self.first(x))).squeeze(1)
                if wrong and not self.made.weight:
                    energy = energy + torch.zeros_like(energy).index_fill(0, torch.tensor([3]), float(self.made.value))
                return energy

        return Net(self)


@component("normalised")
class NormalisedNet(Model):
    """A spectrally normalised layer whose weight vanishes at pass `at`: its singular vectors are 0/0 then."""

    at: int = 0

    def build(self, event):
        from torch import nn

        from ebmkit.maths.spectral import SpectralNorm

        class Net(nn.Module):
            def __init__(self, at):
                super().__init__()
                self.at, self.passes = at, 0
                self.layer = SpectralNorm(nn.Linear(2, 4), power_iterations=1)

            def forward(self, x):
                self.passes += self.training
                if self.training and self.passes == self.at:
                    with torch.no_grad():
                        self.layer.layer.weight.zero_()
                return self.layer(x).square().sum(1)

        return Net(self.at)


@component("leap")
class Leap(Optimizer):
    """Gradient descent that at step `at` sets one number wrong: of weight `index`, of the rate, or of its own state."""

    where: str = "weight"
    at: int = 0
    index: int = 0
    value: str = "inf"

    def build(self, parameters):
        made = self

        class Descent(torch.optim.Optimizer):
            def __init__(self):
                super().__init__(list(parameters), {"lr": 1e-3})
                self.steps = 0

            @torch.no_grad()
            def step(self):
                self.steps += 1
                group = self.param_groups[0]
                wrong = self.steps == made.at
                rate = float(made.value) if wrong and made.where == "rate" else group["lr"]
                for p in group["params"]:
                    self.state[p]["last"] = p.grad.clone()
                    p -= rate * p.grad
                if wrong and made.where == "weight":
                    group["params"][made.index].view(-1)[0] = float(made.value)
                if wrong and made.where == "state":
                    self.state[group["params"][made.index]]["last"].view(-1)[0] = float(made.value)

        return Descent()


class Walk(NamedTuple):
    """Positions and the number of steps that led there."""

    x: Any
    steps: int


@component("walk")
class PoisonedWalk(Sampler):
    """A random walk. In its call `call` and there at step `at`, one chain or what is told of the step goes wrong."""

    where: str = "x"
    call: int = 0
    at: int = 2
    value: str = "nan"
    steps: int = 4

    calls: ClassVar[list[int]] = [0]

    def init(self, energy, x, rng):
        self.calls[0] += 1
        return Walk(x, 0)

    def step(self, energy, state, rng):
        x = state.x + 0.1 * torch.empty_like(state.x).normal_(generator=rng)
        told = {"energy": energy(x), "gradient": torch.zeros_like(x), "acceptance": torch.ones_like(x[:, 0])}
        if (self.calls[0], state.steps + 1) == (self.call, self.at):
            (x if self.where == "x" else told[self.where])[1] = float(self.value)
        return Walk(x, state.steps + 1), StepInfo(**told)


@component("memory")
class PoisonedMemory(Init):
    """Chains that go on where they stopped. Those handed back at step `at` are kept, one of them wrong."""

    at: int = 0
    value: str = "nan"

    def build(self, event):
        from ebmkit.api import Starts

        class Memory(Starts):
            def __init__(self, made):
                super().__init__()
                self.made, self.kept = made, 0
                self.register_buffer("positions", torch.zeros(16, *event))

            def draw(self, like, rng):
                return self.positions[: len(like)].to(like)

            def keep(self, x):
                self.kept += 1
                self.positions[: len(x)] = x
                if self.kept == self.made.at:
                    self.positions[2] = float(self.made.value)

        return Memory(self)


@component("density")
class PoisonedDensity(Noise):
    """A standard Gaussian whose log density, or one of whose samples, goes wrong in its call `at`."""

    where: str = "log_prob"
    at: int = 0
    value: str = "nan"

    def build(self, event, data):
        from ebmkit.api import Density

        class Gaussian(Density):
            def __init__(self, made):
                super().__init__()
                self.made, self.calls = made, 0

            def log_prob(self, x):
                wrong = self.calls == self.made.at and self.made.where == "log_prob"
                return -x.square().sum(1) / 2 + (float(self.made.value) if wrong else 0.0)

            def sample(self, n, rng):
                self.calls += 1
                x = torch.empty(n, *event).normal_(generator=rng)
                if self.calls == self.made.at and self.made.where == "sample":
                    x[0] = float(self.made.value)
                return x

        return Gaussian(self)


@component("generator")
class PoisonedGenerator(Bregman):
    """psi(u) = u^2, with a closed form that is right and whose slope is not finite."""

    def psi(self, u):
        return u.square()

    def s1(self, log_u):
        return 2 * log_u.exp() + (log_u - log_u.detach()).abs().sqrt()


@component("number")
class PoisonedNumber(Metric):
    """One number, which is wrong after `at` training steps."""

    at: int = 0
    value: str = "nan"

    def results(self):
        return ("good", "bad")

    def measure(self, view):
        return {"good": 1.0, "bad": float(self.value) if view.step == self.at else 2.0}


@component("points")
class PoisonedPoints(Data):
    """Random points, of which one of a split is wrong."""

    split: str = "train"
    row: int = 5
    value: float | str = "nan"

    def event(self):
        return (2,)

    def load(self, split, rng):
        x = torch.empty(50, 2, dtype=torch.float64).normal_(generator=rng)
        if split == self.split:
            x[self.row, 1] = float(self.value)
        return Dataset(x)
