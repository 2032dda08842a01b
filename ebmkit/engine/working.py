"""What a stage of training works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.private_torch import without_compiler
from ebmkit.contracts.abilities import Parted
from ebmkit.contracts.built import builder_of, check_type
from ebmkit.contracts.kinds import Model, Optimizer
from ebmkit.contracts.modules.contest import Contest
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.setting import Setting
from ebmkit.contracts.walk import walk
from ebmkit.engine.process import fitting_precision, seeded
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.errors.running import ComponentFailed, Diverged
from ebmkit.errors.source import Path
from ebmkit.language.plan import Plan
from ebmkit.language.stages import part_of

#: The number of points that are shown to a part at once.
BLOCK = 4096


@dataclass(frozen=True)
class Working:
    """The module that a stage trains, the auxiliary modules of its objective, and its optimizer."""

    model: nn.Module
    component: Model
    extras: nn.Module | None
    optimizer: torch.optim.Optimizer
    #: The name of the part that is trained; None for the whole model.
    part: str | None = None
    #: That of the adversary, if the stage gives it one of its own.
    rival: torch.optim.Optimizer | None = None


def shared_stages(plan: Plan, model: nn.Module, extras: nn.Module | None) -> list[Working | None]:
    """One entry per stage. Those that own their part or objective are None: they are built when they begin, because
    what a part sees is not known before those below it are trained."""
    spec = plan.spec
    return [
        _working(plan, index, spec.model, model, extras) if spec.is_shared(index) else None
        for index in range(len(spec.stages))
    ]


def own_stage(
    plan: Plan, model: nn.Module, index: int, device: torch.device, train: Tensor, labels: tuple[Tensor | None, ...]
) -> Working:
    """A stage that owns its part or its objective, newly initialised, for the whole `model` and the training points.

    It is a function of the seed and of the weights that this stage does not change, so that a resumed run builds the
    same.
    """
    spec, streams = plan.spec, Streams(plan.spec.seed, torch.device("cpu"))
    part, where = part_of(spec, plan.event, index), f"train/{index}"
    component, event, module, data = spec.model, plan.event, model, train
    if part is not None:
        component, event = part.model, part.event
        with ErrorSite(plan, ("model",)):
            module = cast("Parted", model).part(part.name)
            check_type(module, nn.Module, "part")
            data = _seen(model, part.name, train, streams.generator(f"{where}/seen", device))
    setting = Setting(event, component.traits().space, module, streams.generator(f"{where}/prepare"), data, *labels)
    objective, path = spec.objective_of(index), spec.objective_path(index)
    prepared: set[int] = set()
    for at, inside in walk(objective, path):
        if id(inside) not in prepared:
            prepared.add(id(inside))
            with ErrorSite(plan, at):
                inside.prepare(setting)
    extras = build_extras(plan, index, setting, streams, f"{where}/extras", device)
    check_finite(plan, module, extras, path)
    return _working(plan, index, component, module, extras, None if part is None else part.name)


def _seen(model: nn.Module, part: str, train: Tensor, rng: Generator) -> Tensor:
    """The training points as a part sees them, on the host."""
    with torch.no_grad():
        blocks = [cast("Parted", model).seen_by(part, x.to(rng.device), rng).cpu() for x in torch.split(train, BLOCK)]
    return torch.cat(blocks)


def build_extras(
    plan: Plan, index: int, setting: Setting, streams: Streams, stream: str, device: torch.device
) -> nn.Module | None:
    """The auxiliary modules of the objective of a stage."""
    objective = plan.spec.objective_of(index)
    assert objective is not None  # checked by resolve
    assert setting.data is not None
    dtype = getattr(torch, plan.spec.dtype)
    with ErrorSite(plan, plan.spec.objective_path(index)), seeded(streams, stream), fitting_precision(dtype):
        extras = objective.extras(setting.event, setting.data.cpu())
        if extras is None:
            return None
        check_type(extras, nn.Module, "extras")
        prepare_modules(extras, setting)
        return extras.to(device, dtype)


def _working(
    plan: Plan, index: int, component: Model, model: nn.Module, extras: nn.Module | None, part: str | None = None
) -> Working:
    """A stage with its optimizers: one for all parameters, or a second one for those of the adversary."""
    spec, path = plan.spec, plan.spec.stage_path(index)
    stage = spec.stages[index]
    trained = [p for module in (model, extras) if module for p in module.parameters() if p.requires_grad]
    if not trained and (objective := spec.objective_of(index)):
        who = f"model {spec.model.component_name!r} and objective {objective.component_name!r}"
        raise ComponentFailed(f"{who} have no parameter to train", plan.place(("model",)))
    rival = None
    if stage.rival is not None:
        if not isinstance(extras, Contest):
            who = label_at(plan, spec.objective_path(index))
            raise ComponentFailed(f"{who} says that it has an adversary, but its extras are not a Contest")
        theirs = [parameter for parameter in extras.rival.parameters() if parameter.requires_grad]
        known = set(map(id, theirs))
        trained = [parameter for parameter in trained if id(parameter) not in known]
        own = stage.rival.optimizer
        rival = _built(
            plan, (*path, "rival", "optimizer") if own else (*path, "optimizer"), own or stage.optimizer, theirs
        )
    return Working(model, component, extras, _built(plan, (*path, "optimizer"), stage.optimizer, trained), part, rival)


def _built(plan: Plan, path: Path, optimizer: Optimizer, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    with ErrorSite(plan, path), without_compiler():
        return optimizer.build(parameters)


def check_finite(plan: Plan, model: nn.Module, extras: nn.Module | None, objective: Path) -> None:
    """Raise `Diverged` if a weight or a fitted value is unsound before training or sampling begins."""
    paths = {id(component): path for path, component in walk(plan.spec)}
    roots: list[tuple[nn.Module, Path]] = [(model, ("model",))]
    if extras:
        roots.append((extras, objective))
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
