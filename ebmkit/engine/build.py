"""Builds the parts of a run from its plan, on a device."""

from __future__ import annotations

import torch
from torch import nn

from ebmkit.chains.compiled import compile_energy
from ebmkit.components.noise.nets.snapshot import SnapshotDensity
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.setting import Setting
from ebmkit.contracts.walk import walk
from ebmkit.engine.ema import RunningMean
from ebmkit.engine.model_check import check_model
from ebmkit.engine.parts import Parts, weight_scale
from ebmkit.engine.points import check_files, load, scaled, units_of
from ebmkit.engine.process import find_device, insist_on_determinism, seeded, set_threads
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.engine.working import Working, build_extras, check_finite, shared_stages
from ebmkit.language.plan import Plan
from ebmkit.language.stages import objective_root


def build(plan: Plan, *, stand_in: bool = False) -> Parts:
    """The parts of a plan, newly initialised. Also sets the number of threads of this process and whether it requires
    deterministic algorithms.

    For a dry run, random points may `stand_in` for data whose files are missing. Otherwise missing files are an error.
    """
    spec = plan.spec
    if not stand_in:
        check_files(plan)
    device, dtype = find_device(plan), getattr(torch, spec.dtype)
    streams = Streams(spec.seed, torch.device("cpu"))
    insist_on_determinism(spec.deterministic, compiled=spec.compile)
    model = _model(plan, streams, device, dtype)
    threads = set_threads(plan, model)
    starts = _starts(plan, streams, device, dtype)
    splits: tuple[Split, Split] = ("train", "test")
    given = [load(plan, split, streams, dtype, stand_in=stand_in) for split in splits]
    units = units_of(plan, given[0])
    train, test = (scaled(plan, units, points, dtype) for points in given)
    setting = Setting(plan.event, spec.model.traits().space, model, streams.generator("prepare"), *train, test.y)
    _prepare(plan, setting, starts)

    extras = mean = None
    working: list[Working | None] = []
    if spec.stages and train.x is not None:
        shared = [index for index in range(len(spec.stages)) if spec.is_shared(index)]
        extras = build_extras(plan, shared[0], setting, streams, "objective/extras", device) if shared else None
        working = shared_stages(plan, model, extras)
        with ErrorSite(plan, ("train",)):
            mean = RunningMean(model) if any(stage.ema for stage in spec.stages) else None
    with ErrorSite(plan, ("data",)):
        train, test, units = train.on(device), test.on(device), units.to(device)
    check_finite(plan, model, extras, ("objective",))
    points = (train.x, test.x, train.y, test.y)
    raw = [None if units.are_those_of_the_data or points.x is None else points.x.double() for points in given]
    state = (extras, working, mean, weight_scale(model))
    parts = Parts(device, dtype, threads, model, starts, *points, *state, units, *raw)
    check_model(plan, parts)
    if spec.compile:
        _compile(model, mean, extras)
    return parts


# Built on the CPU in float32, then moved: the initial weights depend neither on the device nor on the precision.


def _model(plan: Plan, streams: Streams, device: torch.device, dtype: torch.dtype) -> nn.Module:
    with ErrorSite(plan, ("model",)), seeded(streams, "model"):
        built = plan.spec.model.build(plan.event)
        return built.to(device, dtype)


def _starts(plan: Plan, streams: Streams, device: torch.device, dtype: torch.dtype) -> Starts:
    with ErrorSite(plan, ("init",)), seeded(streams, "init"):
        return plan.spec.init.build(plan.event).to(device, dtype)


def _prepare(plan: Plan, setting: Setting, starts: Starts) -> None:
    """Prepare the modules of model and init, then every component. Objectives of stages that own their part or their
    objective are prepared when these begin."""
    prepared: set[int] = set()
    shared = not plan.spec.stages or any(map(plan.spec.is_shared, range(len(plan.spec.stages))))
    with ErrorSite(plan, ("model",)):
        prepare_modules(setting.model, setting)
    with ErrorSite(plan, ("init",)):
        prepare_modules(starts, setting)
    for path, component in walk(plan.spec):
        if (root := objective_root(path)) and not (shared and root == ("objective",)):
            continue
        if id(component) not in prepared:  # a shared component occurs at every place that refers to it
            prepared.add(id(component))
            with ErrorSite(plan, path):
                component.prepare(setting)


def _compile(model: nn.Module, mean: RunningMean | None, extras: nn.Module | None) -> None:
    copies = [part.model for part in extras.modules() if isinstance(part, SnapshotDensity)] if extras else []
    for network in (model, mean.module if mean else None, *copies):
        if network is not None:
            compile_energy(network)
