"""Faults of components that show when a spec uses them: the code of the component, and what is said of it.

Every plugin is `odd` of the distribution `ebmkit-odd`, and its component is `odd.odd`.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

HEAD = """
from typing import Any, ClassVar, NamedTuple
from ebmkit.api import Data, Dataset, Log, Loss, Metric, Model, Objective, Optimizer, Panel, Sampler, StepInfo, Tracker
from ebmkit.api import component, hookimpl, torch

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")
    __repr__ = __str__

class Walk(NamedTuple):
    x: Any

class Lines(Log):
    def __init__(self, fails=""):
        self.fails = fails

    def _said(self, what):
        if self.fails == what:
            raise Unprintable

    def write(self, step, values):
        self._said("write")

    def finish(self, results):
        self._said("finish")

    def close(self):
        self._said("close")
"""

TRAIN = """\
ebmkit: 1
data: {use: two_moons, size: 64, test_size: 32}
model: {use: mlp, hidden: [4]}
objective: {use: nce, noise: gaussian}
train: {steps: 2, batch_size: 16}
"""

SAMPLE = """\
ebmkit: 1
model: {use: gaussian, mean: [0, 0]}
sampler: {use: odd.odd}
samples: 8
"""

#: For each kind, the spec that uses its component, and the line of it that names the component.
SPECS = {
    "Data": (TRAIN.replace("{use: two_moons, size: 64, test_size: 32}", "odd.odd"), 2),
    "Model": (TRAIN.replace("{use: mlp, hidden: [4]}", "odd.odd"), 3),
    "Objective": (TRAIN.replace("{use: nce, noise: gaussian}", "odd.odd"), 4),
    "Optimizer": (TRAIN.replace("16}", "16,\n  optimizer: odd.odd}"), 6),
    "Sampler": (SAMPLE, 3),
    "Metric": (TRAIN + "evaluate: [odd.odd]\n", 6),
    "Tracker": (TRAIN + "trackers: [odd.odd]\n", 6),
}

#: What a component of each kind has to define.
REST = {
    "Data": "def event(self): return (2,)\ndef load(self, split, rng): return Dataset(torch.zeros(64, 2))",
    "Model": "def build(self, event): return torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0))",
    "Objective": "def loss(self, model, batch, context): return Loss(model(batch).mean(), {})",
    "Optimizer": "def build(self, parameters): return torch.optim.SGD(parameters, lr=0.1)",
    "Sampler": "steps: ClassVar = 2\ndef init(self, energy, x, rng): return Walk(x)\n"
    "def step(self, energy, state, rng): return state, StepInfo()",
    "Metric": "def results(self): return ('a',)\ndef measure(self, view): return {'a': 1.0}",
    "Tracker": "def open(self, run): return Lines()",
}


@dataclass(frozen=True)
class RunFault:
    """A fault of the component of a kind; `body` replaces or adds methods."""

    kind: str
    body: str
    reason: str
    #: `spec`: `validate` finds it. `run`: `run` does.
    when: str = "run"
    status: int = 3

    @property
    def code(self) -> str:
        body = textwrap.indent(f"{REST[self.kind]}\n{self.body}", "    ")
        return f'{HEAD}\n@component("odd")\nclass Odd({self.kind}):\n    """Odd."""\n\n{body}\n'

    @property
    def spec(self) -> str:
        return SPECS[self.kind][0]

    @property
    def line(self) -> int:
        return SPECS[self.kind][1]


RAISED = "Unprintable: its message cannot be shown"

RUN_FAULTS = {
    # Found by `validate`
    "__post_init__ raises": RunFault("Model", "def __post_init__(self): raise Unprintable", RAISED, "spec"),
    "__post_init__ leaves": RunFault("Model", "def __post_init__(self): raise SystemExit(0)", "SystemExit: 0", "spec"),
    "traits raise": RunFault("Model", "def traits(self): raise Unprintable", RAISED, "spec"),
    "traits leave": RunFault("Sampler", "def traits(self): raise SystemExit(0)", "SystemExit", "spec"),
    "traits of another type": RunFault("Model", "def traits(self): return 7", "object of type int", "spec"),
    "an unknown space": RunFault("Model", "space: ClassVar = 'outer'", "the trait 'space'", "spec"),
    "spaces that are no names": RunFault("Sampler", "spaces: ClassVar = frozenset({7})", "the trait 'spaces'", "spec"),
    "a schedule that is none": RunFault(
        "Model", "def traits(self): return super().traits()._replace(schedule=7)", "the trait 'schedule'", "spec"
    ),
    "a refusal that raises": RunFault("Sampler", "def refusal(self, question): raise Unprintable", RAISED, "spec"),
    "a refusal that is no text": RunFault("Metric", "def refusal(self, question): return 7", "text or None", "spec"),
    "results that raise": RunFault("Metric", "def results(self): raise Unprintable", RAISED, "spec"),
    "results that are no names": RunFault("Metric", "def results(self): return [1, 2]", "a tuple of names", "spec"),
    "results with terminal escapes": RunFault(
        "Metric", "def results(self): return ('\\x1b[31m',)", "a tuple of names", "spec"
    ),
    "an event of words": RunFault("Data", "def event(self): return ('a', 'b')", "positive integers", "spec"),
    "an event that raises": RunFault("Data", "def event(self): raise Unprintable", RAISED, "spec"),
    "an event of a model": RunFault("Model", "def event(self): return (2.0,)", "positive integers", "spec"),
    "files that raise": RunFault("Data", "def files(self): raise Unprintable", RAISED, "spec"),
    "an inner sampler that raises": RunFault("Sampler", "def inner(self): raise Unprintable", RAISED, "spec"),
    # Found by `run`
    "prepare raises": RunFault("Metric", "def prepare(self, setting): raise Unprintable", RAISED),
    "build raises": RunFault("Model", "def build(self, event): raise Unprintable", RAISED),
    "build leaves": RunFault("Model", "def build(self, event): raise SystemExit(0)", "SystemExit"),
    "build returns no module": RunFault("Model", "def build(self, event): return 7", "an instance of Module"),
    "build returns no optimizer": RunFault(
        "Optimizer", "def build(self, parameters): return 7", "instance of Optimizer"
    ),
    "an offer that is not kept": RunFault(
        "Model", "offers: ClassVar = frozenset({'energy', 'gradient', 'log_z'})", "it offers 'log_z'"
    ),
    "loss raises": RunFault("Objective", "def loss(self, model, batch, context): raise Unprintable", RAISED),
    "loss leaves": RunFault("Objective", "def loss(self, model, batch, context): raise SystemExit(0)", "SystemExit"),
    "loss is not a number": RunFault(
        "Objective", "def loss(self, m, batch, c): return Loss(m(batch).mean() * float('nan'), {})", "loss", status=4
    ),
    "loss is no scalar": RunFault(
        "Objective", "def loss(self, m, batch, c): return Loss(m(batch), {})", "RuntimeError"
    ),
    "loss has no graph": RunFault(
        "Objective", "def loss(self, m, batch, c): return Loss(m(batch).mean().detach(), {})", "RuntimeError"
    ),
    "loss is something else": RunFault("Objective", "def loss(self, m, batch, c): return 7", "AttributeError"),
    "extras raise": RunFault("Objective", "def extras(self, event, data): raise Unprintable", RAISED),
    "extras are no module": RunFault("Objective", "def extras(self, event, data): return 7", "an instance of Module"),
    "init raises": RunFault("Sampler", "def init(self, energy, x, rng): raise Unprintable", RAISED),
    "a step raises": RunFault("Sampler", "def step(self, energy, state, rng): raise Unprintable", RAISED),
    "a step returns something else": RunFault("Sampler", "def step(self, energy, state, rng): return 7", "TypeError"),
    "a state without x": RunFault("Sampler", "def step(self, e, s, rng): return (1, 2), StepInfo()", "AttributeError"),
    "states of another shape": RunFault(
        "Sampler", "def step(self, e, s, rng): return Walk(s.x[:, :1]), StepInfo()", "shape"
    ),
    "states of another type": RunFault(
        "Sampler", "def step(self, e, s, rng): return Walk(s.x.double()), StepInfo()", "float64"
    ),
    "fewer states": RunFault("Sampler", "def step(self, e, s, rng): return Walk(s.x[:1]), StepInfo()", "shape"),
    "measuring raises": RunFault("Metric", "def measure(self, view): raise Unprintable", RAISED),
    "measuring leaves": RunFault("Metric", "def measure(self, view): raise SystemExit(0)", "SystemExit"),
    "a measurement of words": RunFault("Metric", "def measure(self, view): return {'a': 'many'}", "ValueError"),
    "a complex measurement": RunFault("Metric", "def measure(self, view): return {'a': 1j}", "TypeError"),
    "a measurement that is no mapping": RunFault("Metric", "def measure(self, view): return 7", "AttributeError"),
    "thousands of measurements": RunFault(
        "Metric", "def measure(self, view): return {f'b{i}': 1.0 for i in range(100_000)}", "announces a"
    ),
    "a measurement that is not finite": RunFault(
        "Metric", "def measure(self, view): return {'a': float('nan')}", "a is nan", status=4
    ),
    "a tracker that does not open": RunFault("Tracker", "def open(self, run): raise Unprintable", RAISED),
    "a tracker that does not write": RunFault("Tracker", "def open(self, run): return Lines(fails='write')", RAISED),
    "a tracker that does not finish": RunFault("Tracker", "def open(self, run): return Lines(fails='finish')", RAISED),
    "a tracker that does not close": RunFault("Tracker", "def open(self, run): return Lines(fails='close')", RAISED),
    "a tracker that is none": RunFault("Tracker", "def open(self, run): return 7", "an instance of Log is expected"),
    "a tracker of an earlier contract": RunFault(
        "Tracker",
        "def open(self, folder, records): return Lines()",
        "missing 1 required positional argument",
    ),
    "loading raises": RunFault("Data", "def load(self, split, rng): raise Unprintable", RAISED),
    "points of another shape": RunFault(
        "Data", "def load(self, split, rng): return Dataset(torch.zeros(9, 3))", "shape"
    ),
    "no points": RunFault("Data", "def load(self, split, rng): return Dataset(torch.zeros(0, 2))", "shape"),
    "fewer labels than points": RunFault(
        "Data",
        "def load(self, split, rng): return Dataset(torch.zeros(64, 2), torch.zeros(9, dtype=torch.long))",
        "labels",
    ),
    "points that are not finite": RunFault(
        "Data", "def load(self, split, rng): return Dataset(torch.full((64, 2), float('inf')))", "not finite"
    ),
    "points that are something else": RunFault("Data", "def load(self, split, rng): return 7", "TypeError"),
}
