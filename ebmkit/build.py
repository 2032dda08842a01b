"""Plan to live parts on a device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ebmkit.engine.blame import Blame
from ebmkit.engine.ema import RunningMean
from ebmkit.engine.streams import Streams
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.kinds.data import Split
from ebmkit.nets.starts import Starts
from ebmkit.plan import Plan

#: Below so many parameters a second thread costs more than it brings.
SMALL = 1_000_000

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Parts:
    """Everything of a run that has state, on one device."""

    device: torch.device
    threads: int
    model: nn.Module
    starts: Starts
    train: Tensor | None = None
    test: Tensor | None = None
    extras: nn.Module | None = None
    optimizer: torch.optim.Optimizer | None = None
    mean: RunningMean | None = None

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are sampled and measured."""
        return self.mean.module if self.mean else self.model

    @property
    def parameter_count(self) -> int:
        """How many numbers the model learns or holds."""
        return sum(parameter.numel() for parameter in self.model.parameters())


def build(plan: Plan) -> Parts:
    """The parts of a plan, freshly initialised. Also sets the number of threads of this process."""
    spec = plan.spec
    device = _device(plan)
    streams = Streams(spec.seed, CPU)

    with Blame(plan, ("model",), f"model {spec.model.component_name!r}"), _seeded(streams, "model"):
        model = spec.model.build(plan.event).to(device)
    threads = _threads(plan, model)
    with Blame(plan, ("init",), f"init {spec.init.component_name!r}"), _seeded(streams, "init"):
        starts = spec.init.build(plan.event).to(device)
    train, test = _load(plan, "train", streams), _load(plan, "test", streams)

    extras = optimizer = mean = None
    if spec.train and spec.objective and train is not None:
        # Fitted on the CPU, as the model is initialised there: the device does not change what a run begins with.
        who = f"objective {spec.objective.component_name!r}"
        with Blame(plan, ("objective",), who), _seeded(streams, "objective/extras"):
            extras = spec.objective.extras(plan.event, train)
            extras = extras.to(device) if extras else None
        with Blame(plan, ("train", "optimizer"), f"optimizer {spec.train.optimizer.component_name!r}"):
            learnt = [p for part in (model, extras) if part for p in part.parameters() if p.requires_grad]
            optimizer = spec.train.optimizer.build(learnt)
        mean = RunningMean(model, spec.train.ema) if spec.train.ema else None

    return Parts(
        device=device,
        threads=threads,
        model=model,
        starts=starts,
        train=train.to(device) if train is not None else None,
        test=test.to(device) if test is not None else None,
        extras=extras,
        optimizer=optimizer,
        mean=mean,
    )


def _device(plan: Plan) -> torch.device:
    wanted = plan.spec.device
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if wanted == "auto":
        return torch.device("cuda" if cuda else "mps" if mps else "cpu")
    device = torch.device(wanted)
    count = {"cuda": torch.cuda.device_count() if cuda else 0, "mps": int(mps), "cpu": 1}[device.type]
    if (device.index or 0) >= count:
        there = [
            *(f"cuda:{n}" for n in range(torch.cuda.device_count() if cuda else 0)),
            *(["mps"] if mps else []),
            "cpu",
        ]
        raise EnvironmentLacks(
            f"device {wanted!r} is not available here",
            plan.place(("device",)),
            label="this machine has " + ", ".join(there),
            help="'auto' takes the best device that is there",
        )
    return device


def _threads(plan: Plan, model: nn.Module) -> int:
    threads = plan.spec.threads
    if threads == "auto":
        small = sum(parameter.numel() for parameter in model.parameters()) < SMALL
        threads = (
            1 if small else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
    torch.set_num_threads(threads)
    return threads


def _load(plan: Plan, split: Split, streams: Streams) -> Tensor | None:
    data = plan.spec.data
    if data is None:
        return None
    with Blame(plan, ("data",), f"data {data.component_name!r}"):
        x = data.load(split, streams.generator(f"data/{split}")).x
        if tuple(x.shape[1:]) != plan.event or not len(x):
            raise ValueError(
                f"{split} points have shape {tuple(x.shape)}, expected (N, {', '.join(map(str, plan.event))})"
            )
        return x


@contextmanager
def _seeded(streams: Streams, path: str) -> Iterator[None]:
    """torch initialises layers from the global generator: lend it a seed of ours and put it back."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(streams.seed_of(path))
        yield
