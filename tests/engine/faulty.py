"""A plugin whose components misbehave in every way that the engine has to survive. Its hooks keep a diary."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from ebmkit.api import (
    Bregman,
    EnvironmentLacks,
    Init,
    Log,
    Loss,
    Metric,
    Model,
    Noise,
    Objective,
    Optimizer,
    Tracker,
    component,
    hookimpl,
    torch,
)

#: What the hooks of this plugin heard.
DIARY: list[Any] = []


@hookimpl
def ebmkit_run_started(view, folder):
    DIARY.append(("started", folder.is_dir()))


@hookimpl
def ebmkit_step_ended(view, step):
    DIARY.append(("step", step, view.step))


@hookimpl
def ebmkit_checkpoint_saved(view, path):
    DIARY.append(("saved", (path / "manifest.json").is_file()))


@hookimpl
def ebmkit_run_finished(view, results):
    DIARY.append(("finished", sorted(results)))


@component("trouble")
class Trouble(Objective):
    """The mean energy, until step `at`; then `kind`."""

    kind: str = "none"
    at: int = 7

    def loss(self, model, batch, context):
        energy = model(batch).mean()
        metrics = {"energy_data": energy.detach()}
        if context.step == self.at:
            if self.kind == "nan":
                energy = energy * torch.nan
            if self.kind == "metric":
                metrics["energy_data"] = energy.detach() / 0
            if self.kind == "raise":
                raise IndexError("out of luck")
            if self.kind == "ctrl-c":
                raise KeyboardInterrupt
        return Loss(energy, metrics)


@component("alias")
class Alias(Objective):
    """Reports a parameter itself, which the optimizer changes in place before anybody reads the report."""

    def loss(self, model, batch, context):
        weight = next(model.parameters())
        return Loss(model(batch).mean(), {"weight": weight.detach().flatten()[0]})


@component("draws")
class Draws(Metric):
    """Uses a lot of randomness of every kind that it is given."""

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})
    samples: int = 100
    value: float = 1.0

    def results(self):
        return ("draws",)

    def measure(self, view):
        torch.randn(1000, generator=view.rng)
        view.samples(self.samples)
        return {"draws": self.value}


@component("infinite")
class Infinite(Metric):
    """Measures nothing that is a number."""

    def results(self):
        return ("infinite",)

    def measure(self, view):
        return {"infinite": float("inf")}


@component("liar")
class Liar(Metric):
    """Announces one thing and measures another."""

    def results(self):
        return ("announced",)

    def measure(self, view):
        return {"other": 1.0}


@component("broke")
class Broke(Metric):
    """Needs what no machine has."""

    def results(self):
        return ("broke",)

    def measure(self, view):
        raise EnvironmentLacks("there is no telescope here")


@component("moody")
class Moody(Metric):
    """Raises while the environment is in a bad mood."""

    def results(self):
        return ("mood",)

    def measure(self, view):
        if os.environ.get("FAULTY_MOOD") == "bad":
            raise RuntimeError("not today")
        return {"mood": 1.0}


@component("unbuildable")
class Unbuildable(Model):
    """Cannot be built."""

    def build(self, event):
        raise MemoryError("too wide")


@component("listed")
class Listed(Init):
    """Builds something else than a module."""

    def build(self, event):
        return [event]


@component("modular")
class Modular(Noise):
    """Builds a module that is no density."""

    def build(self, event, data):
        return torch.nn.Identity()


@component("pointless")
class Pointless(Noise):
    """Builds a module that is no conditional density."""

    offers: ClassVar[frozenset[str]] = frozenset({"conditional", "normalised"})

    def build(self, event, data):
        return torch.nn.Identity()


@component("bare")
class Bare(Model):
    """Builds a function."""

    def build(self, event):
        return lambda x: x


@component("lazy")
class Lazy(Optimizer):
    """Builds nothing."""

    def build(self, parameters):
        return None


@component("spare")
class Spare(Objective):
    """Has extras that are no module."""

    def extras(self, event, data):
        return [data]

    def loss(self, model, batch, context):
        raise AssertionError("it is refused before it trains")


@component("picky")
class Picky(Noise):
    """Refuses the run that it is prepared for, and writes down what it saw of it."""

    def build(self, event, data):
        raise AssertionError("it is refused before it is built")

    def prepare(self, setting):
        DIARY.append(setting)
        raise ValueError(f"there are {len(setting.data)} points")


def _unready(base):
    """A module that refuses the run that it is prepared for."""

    class Unready(base):
        def prepare(self, setting):
            self.refuse(setting)

        def refuse(self, setting):
            raise ValueError(f"no {len(setting.data)} points, please")

        def sample(self, n, rng): ...
        def log_prob(self, x): ...
        def draw(self, *_): ...

    return Unready()


@component("unready_noise")
class UnreadyNoise(Noise):
    """Builds a density that refuses the run; with `within`, a density that contains such a one."""

    within: bool = False

    def build(self, event, data):
        from ebmkit.api import Density
        from ebmkit.components.noise.nets.mixed_density import MixedDensity

        return MixedDensity(_unready(Density), _unready(Density), 0.5) if self.within else _unready(Density)


@component("unready_start")
class UnreadyStart(Init):
    """Builds starts that refuse the run."""

    def build(self, event):
        from ebmkit.api import Starts

        return _unready(Starts)


@component("stubborn")
class Stubborn(Optimizer):
    """Cannot be built either."""

    def build(self, parameters):
        raise RuntimeError("no")


@component("full_disk")
class FullDisk(Tracker):
    """Meets a full disk at the first line."""

    def open(self, run):
        return FullLog()


class FullLog(Log):
    def write(self, step, values):
        raise OSError(28, "No space left on device", "metrics.full")

    def sync(self):
        DIARY.append("synced")

    def close(self):
        DIARY.append("closed")


@component("angry")
class Angry(Bregman):
    """Raises when it is asked."""

    def psi(self, u):
        raise ValueError("boom")
