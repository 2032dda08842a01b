"""Default parameters of objectives that depend on the model: chains on units are drawn, chains on points move."""

from __future__ import annotations

import dataclasses
from typing import Any

from ebmkit.contracts.kinds import Objective
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.sections import Spec, Train
from ebmkit.language.stages import part_of


def with_suited_defaults(checked: Checked) -> tuple[Checked, dict[Path, str]]:
    """The spec with the defaults of its objectives that suit its model, and the reasons by their paths.

    They are filled in before anything is checked: a default that does not fit is no mistake of the spec.
    """
    spec, reasons = checked.spec, dict[Path, str]()
    objective, stages = spec.objective, list(spec.stages)
    try:
        for index in reversed(range(len(stages))):  # the first stage that uses the objective of the spec decides
            own, path = stages[index].objective, spec.objective_path(index)
            suited, why = _suited(checked, index, path)
            reasons |= why
            if own is None:
                objective = suited
            else:
                stages[index] = dataclasses.replace(stages[index], objective=suited)
    except Exception:  # of a component, which the checks that follow report
        return checked, {}
    if not reasons:
        return checked, {}
    train: Train | tuple[Train, ...] | None = tuple(stages) if isinstance(spec.train, tuple) else stages[0]
    return dataclasses.replace(checked, spec=dataclasses.replace(spec, objective=objective, train=train)), reasons


def _suited(checked: Checked, stage: int, path: Path) -> tuple[Objective | None, dict[Path, str]]:
    """The objective of a stage with what suits the model that it trains, where the spec gives nothing."""
    spec: Spec = checked.spec
    objective: Any = spec.objective_of(stage)
    if objective is None:
        return None, {}
    event = spec.data.event() if spec.data else spec.model.event()
    part = part_of(spec, event, stage) if event else None
    model = part.model if part else spec.model
    better = {
        name: value
        for name, value in objective.suited(model.traits()).items()
        if checked.tree.find((*path, name)) is None and value != getattr(objective, name)
    }
    if not better:
        return objective, {}
    why = f"for model '{model.component_name}'"
    return dataclasses.replace(objective, **better), {(*path, name): why for name in better}
