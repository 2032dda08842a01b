"""Builds the parts of a run from its plan, on a device."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from ebmkit.chains.compiled import compile_energy
from ebmkit.chains.private_torch import without_compiler
from ebmkit.components.noise.nets.snapshot import SnapshotDensity
from ebmkit.contracts.built import builder_of, check_type
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.setting import Setting
from ebmkit.contracts.walk import walk
from ebmkit.engine.ema import RunningMean
from ebmkit.engine.parts import Parts, weight_scale
from ebmkit.engine.points import check_files, load, scaled, units_of
from ebmkit.engine.process import find_device, fitting_precision, insist_on_determinism, seeded, set_threads
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.errors.running import ComponentFailed, Diverged
from ebmkit.errors.source import Path
from ebmkit.language.plan import Plan


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
    optimizers: tuple[torch.optim.Optimizer, ...] = ()
    if spec.stages and spec.objective and train.x is not None:
        extras = _extras(plan, setting, streams, device, dtype)
        optimizers = _optimizers(plan, model, extras)
        with ErrorSite(plan, ("train",)):
            mean = RunningMean(model) if any(stage.ema for stage in spec.stages) else None
    with ErrorSite(plan, ("data",)):
        train, test, units = train.on(device), test.on(device), units.to(device)
    _check_finite(plan, model, extras)
    if spec.compile:
        _compile(model, mean, extras)
    points = (train.x, test.x, train.y, test.y)
    raw = [None if units.are_those_of_the_data or points.x is None else points.x.double() for points in given]
    state = (extras, optimizers, mean, weight_scale(model))
    return Parts(device, dtype, threads, model, starts, *points, *state, units, *raw)


# Built on the CPU in float32, then moved: the initial weights depend neither on the device nor on the precision.


def _model(plan: Plan, streams: Streams, device: torch.device, dtype: torch.dtype) -> nn.Module:
    with ErrorSite(plan, ("model",)), seeded(streams, "model"):
        built = plan.spec.model.build(plan.event)
        return built.to(device, dtype)


def _starts(plan: Plan, streams: Streams, device: torch.device, dtype: torch.dtype) -> Starts:
    with ErrorSite(plan, ("init",)), seeded(streams, "init"):
        return plan.spec.init.build(plan.event).to(device, dtype)


def _prepare(plan: Plan, setting: Setting, starts: Starts) -> None:
    """Prepare the modules of model and init, then every component."""
    prepared: set[int] = set()
    with ErrorSite(plan, ("model",)):
        prepare_modules(setting.model, setting)
    with ErrorSite(plan, ("init",)):
        prepare_modules(starts, setting)
    for path, component in walk(plan.spec):
        if id(component) not in prepared:  # a shared component occurs at every place that refers to it
            prepared.add(id(component))
            with ErrorSite(plan, path):
                component.prepare(setting)


def _extras(
    plan: Plan, setting: Setting, streams: Streams, device: torch.device, dtype: torch.dtype
) -> nn.Module | None:
    objective = plan.spec.objective
    assert objective is not None  # checked by resolve
    assert setting.data is not None
    with ErrorSite(plan, ("objective",)), seeded(streams, "objective/extras"), fitting_precision(dtype):
        extras = objective.extras(plan.event, setting.data)
        if extras is None:
            return None
        check_type(extras, nn.Module, "extras")
        prepare_modules(extras, setting)
        return extras.to(device, dtype)


def _check_finite(plan: Plan, model: nn.Module, extras: nn.Module | None) -> None:
    """Raise `Diverged` if a weight or a fitted value is unsound before training or sampling begins."""
    paths = {id(component): path for path, component in walk(plan.spec)}
    roots: list[tuple[nn.Module, Path]] = [(model, ("model",))]
    if extras:
        roots.append((extras, ("objective",)))
    for root, otherwise in roots:
        for name in unsound(root):
            owner = builder_of(root.get_submodule(name.rpartition(".")[0]))
            path = paths.get(id(owner), otherwise)
            said = f"{label_at(plan, path)}: '{name}' is not finite before the first step"
            raise Diverged(said, plan.place(path))


def unsound(module: nn.Module) -> Iterator[str]:
    """The names of weights that are not finite, and of buffers with NaN: these may be infinite, as masks are."""
    for name, weight in module.named_parameters():
        if not bool(weight.isfinite().all()):
            yield name
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point() and bool(buffer.isnan().any()):
            yield name


def _optimizers(plan: Plan, model: nn.Module, extras: nn.Module | None) -> tuple[torch.optim.Optimizer, ...]:
    """One optimizer per stage."""
    spec, optimizers = plan.spec, []
    trained = [p for part in (model, extras) if part for p in part.parameters() if p.requires_grad]
    if not trained and spec.objective:
        who = f"model {spec.model.component_name!r} and objective {spec.objective.component_name!r}"
        raise ComponentFailed(f"{who} have no parameter to train", plan.place(("model",)))
    for index, stage in enumerate(spec.stages):
        path = (*spec.stage_path(index), "optimizer")
        with ErrorSite(plan, path), without_compiler():
            optimizers.append(stage.optimizer.build(trained))
    return tuple(optimizers)


def _compile(model: nn.Module, mean: RunningMean | None, extras: nn.Module | None) -> None:
    copies = [part.model for part in extras.modules() if isinstance(part, SnapshotDensity)] if extras else []
    for network in (model, mean.module if mean else None, *copies):
        if network is not None:
            compile_energy(network)
