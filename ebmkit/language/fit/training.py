"""Checks that objective and noise fit the model and the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Metric, Noise, Objective, Sampler, Schedule
from ebmkit.contracts.traits import offered_to
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import (
    AbilityMissing,
    ConditioningMismatch,
    ScheduleMismatch,
    SectionMissing,
    ShapeMismatch,
    SpaceMismatch,
    Unsuitable,
)
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, conditioned, event_of, label_of, model_for
from ebmkit.language.stages import objective_root


def ability_misfits(
    path: Path, component: Sampler | Objective, checked: Checked, here: Places
) -> Iterator[EbmkitError]:
    """Checks that the model has the abilities that a sampler or an objective needs."""
    model, objective = checked.spec.model, checked.spec.objective
    gives, takes = component.traits().conditioning, model.traits().conditioning
    if objective_root(path) not in (None, path) and objective and objective.traits().conditioning != takes:
        return  # another objective brings other samplers
    if gives != takes:
        fitting = here.fitting(component.component_kind)
        instead = f"{component.component_kind}s that fit: {fitting}; or " if fitting else ""
        yield ConditioningMismatch(
            f"{label_of(component)} needs a model that takes {conditioned(gives)}, but {label_of(model)} takes "
            f"{conditioned(takes)}",
            here(*path),
            label=f"needs a model that takes {conditioned(gives)}",
            other=here("model"),
            other_label=f"takes {conditioned(takes)}",
            help=f"{instead}use {model_for(gives)}",
        )
        return  # the needs of its replacement are not known
    lacking = component.traits().needs - offered_to(component.traits(), model.traits())
    yield from _lacking(path, component, lacking, checked, here)


def wrapper_misfits(
    path: Path, sampler: Sampler, inner: Sampler, checked: Checked, here: Places
) -> Iterator[EbmkitError]:
    """Does the model offer what a sampler needs in addition to the sampler inside it?"""
    model = checked.spec.model.traits()
    if inner.traits().conditioning == model.conditioning:
        lacking = sampler.traits().needs - inner.traits().needs - offered_to(sampler.traits(), model)
        yield from _lacking(path, sampler, lacking, checked, here)


def _lacking(
    path: Path, component: Sampler | Objective, lacking: frozenset[str], checked: Checked, here: Places
) -> Iterator[EbmkitError]:
    if lacking:
        model, names, kind = checked.spec.model, ", ".join(sorted(lacking)), component.component_kind
        fitting = here.fitting(kind)
        yield AbilityMissing(
            f"{label_of(component)} needs '{names}', which {label_of(model)} does not offer",
            here(*path),
            label=f"needs {names}",
            other=here("model"),
            other_label=f"offers {', '.join(sorted(model.traits().offers))}",
            help=f"{kind}s that fit this model: {fitting}" if fitting else "",
        )


def schedule_misfits(
    path: Path, component: Sampler | Objective, checked: Checked, here: Places
) -> Iterator[EbmkitError]:
    """Checks that a component uses the noise schedule of the model."""
    model, theirs = checked.spec.model, component.traits().schedule
    own = model.traits().schedule
    if theirs is None or own is None or component.traits().conditioning != model.traits().conditioning:
        return
    if theirs != own:
        yield ScheduleMismatch(
            f"{label_of(component)} has a different noise schedule from {label_of(model)}",
            here(*path, "schedule"),
            label=_numbers(theirs),
            other=here("model", "schedule"),
            other_label=_numbers(own),
            help="write the schedule once under 'parts:' and refer to it in both places: schedule: $name",
        )


def _numbers(schedule: Schedule) -> str:
    """A schedule as a spec writes it."""
    fields = (field.name for field in dataclasses.fields(schedule))  # type: ignore[arg-type]  # it is a dataclass
    return ", ".join([schedule.component_name, *(f"{name}: {getattr(schedule, name)}" for name in fields)])


def model_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the data provide what a conditioned model takes from them: scales and labels."""
    model, data = checked.spec.model, checked.spec.data
    schedule = model.traits().schedule
    if schedule is not None and schedule.needs_data and not data:
        yield SectionMissing(
            f"{label_of(model)} has a schedule that takes 'sigma_max' from data, but there is no 'data:'",
            here("model", "schedule"),
            help="set it to a number, as in {use: geometric, sigma_max: 10.0}",
        )
    takes = model.traits().conditioning
    if checked.spec.compile and takes is not None:
        yield Unsuitable(
            f"'compile' applies to energies of x only, but {label_of(model)} takes {conditioned(takes)}",
            here("compile"),
            other=here("model"),
            other_label=f"takes {conditioned(model.traits().conditioning)}",
            help="leave 'compile' out",
        )
    if model.traits().labelled and not (data and data.traits().labelled):
        optional = _is_optional(model, "classes")
        yield Unsuitable(
            f"{label_of(model)} takes labels, but {f'{label_of(data)} has none' if data else 'there is no data'}",
            here("model", "classes") if optional else here("model"),
            other=here("data") if data else None,
            other_label="no labels",
            help="leave out 'classes' to learn without labels" if optional else "use data with labels",
        )
    yield from _class_misfits(checked, here)


def _is_optional(component: Component, parameter: str) -> bool:
    """Whether a component has a parameter that may be left out, in which case it is None."""
    fields = dataclasses.fields(component)  # type: ignore[arg-type]  # it is a dataclass
    return any(field.name == parameter and field.default is None for field in fields)


def space_misfits(
    path: Path, component: Sampler | Objective | Noise | Metric, checked: Checked, here: Places
) -> Iterator[EbmkitError]:
    model = checked.spec.model
    if model.traits().space not in component.traits().spaces:
        *others, last = sorted(component.traits().spaces)
        spaces = f"{', '.join(others)} or {last}" if others else last
        yield SpaceMismatch(
            f"{label_of(component)} needs {spaces} states, but {label_of(model)} has {model.traits().space} states",
            here(*path),
            other=here("model"),
            other_label=f"{model.traits().space} states",
        )


def noise_shape_misfits(path: Path, noise: Noise, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    event, fixed = event_of(checked), noise.event()
    if event is not None and fixed is not None and event != fixed:
        yield ShapeMismatch(
            f"{label_of(noise)} has states of shape {fixed}, but the model has shape {event}",
            here(*path),
            label=f"shape {fixed}",
            other=here("data") if checked.spec.data else here("model"),
            other_label=f"shape {event}",
        )


def noise_misfits(path: Path, noise: Noise, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    objective, root = checked.spec.objective, objective_root(path)
    if objective is None or root is None or path[:-1] != root:
        return
    if lacking := sorted(objective.traits().noise_needs - noise.traits().offers):
        yield AbilityMissing(
            f"{label_of(objective)} needs noise that is '{', '.join(lacking)}', which {label_of(noise)} is not",
            here(*path),
            label=f"offers {', '.join(sorted(noise.traits().offers))}",
            other=here(*root),
            other_label=f"needs {', '.join(sorted(objective.traits().noise_needs))}",
        )


def objective_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    data = checked.spec.data
    for path, objective in walk(checked.spec):
        if not isinstance(objective, Objective) or path != objective_root(path):
            continue  # one inside another says so to it
        if objective.traits().needs_labels and data and not data.traits().labelled:
            yield Unsuitable(
                f"{label_of(objective)} learns from labels, but {label_of(data)} has none",
                here(*path),
                other=here("data"),
                other_label="no labels",
            )
    yield from _rival_misfits(checked, here)


def _rival_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that stages with a section `rival` train an adversary."""
    spec = checked.spec
    for index, stage in enumerate(spec.stages):
        objective = spec.objective_of(index)
        if stage.rival is not None and objective is not None and not objective.traits().adversary:
            yield Unsuitable(
                f"'rival' is how an adversary is trained, but {label_of(objective)} has none",
                here(*spec.stage_path(index), "rival"),
                other=here(*spec.objective_path(index)),
                other_label="no adversary",
                help="leave out 'rival', or use an objective of two players, such as adversarial",
            )


def _class_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the labels of the data are among those that the model distinguishes."""
    model, data = checked.spec.model, checked.spec.data
    known = model.traits().classes
    objectives = [checked.spec.objective_of(index) for index in range(len(checked.spec.stages))]
    uses_labels = model.traits().labelled or any(each and each.traits().needs_labels for each in objectives)
    if not (data and data.traits().labelled and uses_labels) or known is None:
        return
    found = data.class_count()
    if found is not None and found > known:
        yield Unsuitable(
            f"{label_of(data)} has labels 0 to {found - 1}, but {label_of(model)} takes 0 to {known - 1}",
            here("model", "classes"),
            label=f"{known} classes",
            other=here("data"),
            other_label=f"{found} classes",
            help=f"set 'classes' to {found}",
        )
