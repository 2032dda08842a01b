"""Plan to live parts on a device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from ebmkit.chains.compiled import compile_energy
from ebmkit.components.models.nets.conditional import Conditional
from ebmkit.components.noise.nets.snapshot import SnapshotDensity
from ebmkit.components.objectives.nets.introduction import introduce
from ebmkit.contracts.kinds import Bregman, Data, Dataset
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.walk import walk
from ebmkit.engine.ema import RunningMean
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.errors.fit import DataUnreadable
from ebmkit.errors.running import ComponentFailed, EnvironmentLacks
from ebmkit.language.plan import Plan

#: Below so many parameters a second thread costs more than it brings.
SMALL = 1_000_000

#: Data points checked at a time, so that a file larger than the memory is not read as a whole.
ROWS = 1 << 16

#: Points that stand in for data that are not here, if no batch asks for more.
STAND_IN = 256

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Parts:
    """Everything of a run that has state, on one device."""

    device: torch.device
    dtype: torch.dtype
    threads: int
    model: nn.Module
    starts: Starts
    train: Tensor | None = None
    test: Tensor | None = None
    #: Whole numbers beside the points, for data that have some.
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    extras: nn.Module | None = None
    #: One for each stage of training.
    optimizers: tuple[torch.optim.Optimizer, ...] = ()
    mean: RunningMean | None = None

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are sampled and measured."""
        return self.mean.module if self.mean else self.model

    @property
    def parameter_count(self) -> int:
        """How many numbers the model learns or holds."""
        return sum(parameter.numel() for parameter in self.model.parameters())


def build(plan: Plan, *, stand_in: bool = False) -> Parts:
    """The parts of a plan, freshly initialised. Also sets how many threads this process uses, and whether it insists on
    determinism.

    For a rehearsal, made-up points may `stand_in` for data whose files are not here. Otherwise that is a mistake.
    """
    spec = plan.spec
    if not stand_in:
        _check_files(plan)
    device, dtype = _device(plan), getattr(torch, spec.dtype)
    streams = Streams(spec.seed, CPU)
    _insist_on_determinism(spec.deterministic)

    # Made on the CPU in float32, then moved: neither device nor precision change what a run begins with.
    with ErrorSite(plan, ("model",)), _seeded(streams, "model"):
        model = spec.model.build(plan.event).to(device, dtype)
    threads = _threads(plan, model)
    with ErrorSite(plan, ("init",)), _seeded(streams, "init"):
        starts = spec.init.build(plan.event).to(device, dtype)
        starts.live_in(spec.model.space)
    train, train_labels = _load(plan, "train", streams, dtype, stand_in)
    test, test_labels = _load(plan, "test", streams, dtype, stand_in)
    if train is not None:
        with ErrorSite(plan, ("model",)):
            for module in model.modules():
                if isinstance(module, Conditional):
                    module.meet(train, train_labels)
                    module.check_labels(test_labels)

    extras = mean = None
    optimizers: list[torch.optim.Optimizer] = []
    if spec.stages and spec.objective and train is not None:
        for path, part in walk(spec):
            if isinstance(part, Bregman):
                with ErrorSite(plan, path):
                    part.check()
        with ErrorSite(plan, ("objective",)), _seeded(streams, "objective/extras"), _precision(dtype):
            extras = spec.objective.extras(plan.event, train)
            if extras:
                introduce(extras, model, spec.model.space)
                extras = extras.to(device, dtype)
        if train_labels is not None and spec.objective.needs_labels:
            with ErrorSite(plan, ("objective",)), torch.no_grad():
                spec.objective.check_labels(model, train[:1].to(device), train_labels)
        learnt = [p for part in (model, extras) if part for p in part.parameters() if p.requires_grad]
        if not learnt:
            who = f"model {spec.model.component_name!r} and objective {spec.objective.component_name!r}"
            raise ComponentFailed(f"{who} have no parameter to train", plan.place(("model",)))
        for index, stage in enumerate(spec.stages):
            path = (*spec.stage_path(index), "optimizer")
            with ErrorSite(plan, path):
                optimizers.append(stage.optimizer.build(learnt))
        with ErrorSite(plan, ("train",)):
            mean = RunningMean(model) if any(stage.ema for stage in spec.stages) else None

    with ErrorSite(plan, ("data",)):
        train, test = _resident(train, device), _resident(test, device)
        train_labels, test_labels = _beside(train_labels, train), _beside(test_labels, test)
    if spec.compile:
        copies = [part.model for part in extras.modules() if isinstance(part, SnapshotDensity)] if extras else []
        for network in (model, mean.module if mean else None, *copies):
            if network is not None:
                compile_energy(network)
    return Parts(
        device=device,
        dtype=dtype,
        threads=threads,
        model=model,
        starts=starts,
        train=train,
        test=test,
        train_labels=train_labels,
        test_labels=test_labels,
        extras=extras,
        optimizers=tuple(optimizers),
        mean=mean,
    )


def training_points(plan: Plan) -> Tensor | None:
    """The points that a plan trains on, on the CPU, for whoever wants nothing else of it; None without data."""
    _check_files(plan)
    dtype = getattr(torch, plan.spec.dtype)
    return _load(plan, "train", Streams(plan.spec.seed, CPU), dtype, stand_in=False)[0]


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


@contextmanager
def _precision(dtype: torch.dtype) -> Iterator[None]:
    """In a run in float64, what is fitted to data is not rounded to float32 first; nothing is fitted in less."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if dtype == torch.float64 else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _threads(plan: Plan, model: nn.Module) -> int:
    threads = plan.spec.threads
    if threads == "auto":
        small = sum(parameter.numel() for parameter in model.parameters()) < SMALL
        threads = (
            1 if small else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
    torch.set_num_threads(threads)
    return threads


def _check_files(plan: Plan) -> None:
    """Raise `DataUnreadable` unless all files are here that data of the plan, those of metrics among them, read."""
    for path, part in walk(plan.spec):
        if isinstance(part, Data) and (missing := part.missing()):
            said = f"data '{plan.name_at(path)}': there is no file '{missing[0]}'"
            where = "" if missing[0].is_absolute() else f" in {Path.cwd()}"
            raise DataUnreadable(said + where, plan.place(path), help=part.origin())


def _made_up(plan: Plan, data: Data, rng: torch.Generator) -> Dataset:
    """Points of the shape and space of data that are not here."""
    n = max(STAND_IN, *(stage.batch_size for stage in plan.spec.stages), 0)
    x = torch.empty(n, *plan.event).normal_(generator=rng)
    if data.space != "real":
        x = (x > 0).to(x) * 2 - 1 if data.space == "spin" else (x > 0).to(x)
    return Dataset(x, torch.zeros(n, dtype=torch.long) if data.labelled else None)


def _load(
    plan: Plan, split: Split, streams: Streams, dtype: torch.dtype, stand_in: bool
) -> tuple[Tensor | None, Tensor | None]:
    """The points of a split, and their labels."""
    data = plan.spec.data
    if data is None:
        return None, None
    with ErrorSite(plan, ("data",)):
        rng = streams.generator(f"data/{split}")
        x, y = _made_up(plan, data, rng) if stand_in and data.missing() else data.load(split, rng)
        if tuple(x.shape[1:]) != plan.event or not len(x):
            raise ValueError(
                f"{split} points have shape {tuple(x.shape)}, expected (N, {', '.join(map(str, plan.event))})"
            )
        x = x.to(dtype) if x.is_floating_point() else x
        for first in range(0, len(x), ROWS):
            block = x[first : first + ROWS]
            if not all(bool(end.isfinite()) for end in block.aminmax()):
                row = first + int(block.flatten(1).isfinite().all(dim=1).logical_not().nonzero()[0])
                raise ValueError(f"{split} point {row} is not finite: {x[row].flatten()[:8].tolist()}")
        if y is not None and (y.shape != x.shape[:1] or y.is_floating_point()):
            raise ValueError(f"{split} labels are {y.dtype} of shape {tuple(y.shape)}, expected {len(x)} whole numbers")
        return x, y


def _resident(data: Tensor | None, device: torch.device) -> Tensor | None:
    """Data on the device where a quarter of its free memory holds them; otherwise where they are."""
    if data is None or (device.type == "cuda" and data.nbytes > torch.cuda.mem_get_info(device)[0] // 4):
        return data
    return data.to(device)


def _beside(labels: Tensor | None, points: Tensor | None) -> Tensor | None:
    """Labels where their points are."""
    return labels if labels is None or points is None else labels.to(points.device, torch.long)


@contextmanager
def settings_kept() -> Iterator[None]:
    """Around a run: what `build` sets for the whole process is put back, for whoever goes on in it."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
        torch.utils.deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]


def _insist_on_determinism(wanted: bool) -> None:
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    torch.use_deterministic_algorithms(wanted)
    # Filling fresh memory with NaN, as this mode would, costs time and hides nothing: what is used is written first.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


@contextmanager
def _seeded(streams: Streams, path: str) -> Iterator[None]:
    """torch initialises layers from the global generator: lend it a seed of ours and put it back."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(streams.seed_of(path))
        yield
