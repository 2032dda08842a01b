"""Advice that names a parameter which the component in question has, and its path in the spec."""

from __future__ import annotations

import dataclasses
from typing import Any

from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.walk import walk
from ebmkit.errors.source import Path
from ebmkit.language.plan import Plan

#: Parameters of samplers that set how far a step goes.
STEP_LENGTHS = ("step_size", "scale")


def parameter(plan: Plan, path: Path, *names: str) -> str:
    """`'step_size' of sampler 'langevin' (sampler.step_size)`: the first of the names that the component at `path` has;
    empty if it has none of them.

    The path is what `--set` takes. A line of a file would differ in a run that is continued, which reads another one.
    """
    component: Any = dict(walk(plan.spec)).get(path)
    fields = {field.name for field in dataclasses.fields(component)} if component is not None else set()
    name = next((name for name in names if name in fields), None)
    if name is None:
        return ""
    return f"'{name}' of {component.component_kind} '{plan.name_at(path)}' ({'.'.join(map(str, (*path, name)))})"


def step_length(plan: Plan, path: Path) -> str:
    """The parameter that sets the length of steps of the sampler at `path`, or of the sampler that it wraps."""
    inner = next((at for at, part in walk(plan.spec) if isinstance(part, Sampler) and at[:-1] == path), None)
    return parameter(plan, path, *STEP_LENGTHS) or (step_length(plan, inner) if inner else "")


def learning_rate(plan: Plan) -> str:
    """The learning rate of the last stage."""
    return parameter(plan, (*plan.spec.stage_path(len(plan.spec.stages) - 1), "optimizer"), "lr")


def training_sampler(plan: Plan) -> Path | None:
    """Where the sampler of the objective is."""
    inside = walk(plan.spec.objective, ("objective",))
    return next((path for path, component in inside if isinstance(component, Sampler)), None)


def one_of(*options: str) -> str:
    """`a, b or c` of the options that are not empty."""
    known = [option for option in options if option]
    return " or ".join(filter(None, [", ".join(known[:-1]), *known[-1:]]))
