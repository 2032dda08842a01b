"""The optimizer of stages of training that have none: Adam with a learning rate for model and objective."""

from __future__ import annotations

import dataclasses

from ebmkit.components.optimizers.adam import Adam
from ebmkit.contracts.kinds import Model, Objective
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.sections import Spec, Train


def with_optimizer(checked: Checked) -> tuple[Spec, dict[Path, str]]:
    """The spec with the default optimizer of its model in every stage that has none, and the reasons by their paths."""
    spec, reasons = checked.spec, dict[Path, str]()
    stages: list[Train] = []
    for index, stage in enumerate(spec.stages):
        path = spec.stage_path(index)
        # Stages of parts may come from a single section.
        if checked.tree.find((*path, "optimizer")) is None and checked.tree.find(("train", "optimizer")) is None:
            of_stage = spec.objective_of(index)
            stage = dataclasses.replace(stage, optimizer=Adam(lr=_rate(spec.model, of_stage)))
            objective = f" and objective '{of_stage.component_name}'" if of_stage else ""
            reasons[*path, "optimizer", "lr"] = f"for model '{spec.model.component_name}'{objective}"
        stages.append(stage)
    if not reasons:
        return spec, {}
    return dataclasses.replace(spec, train=tuple(stages) if isinstance(spec.train, tuple) else stages[0]), reasons


def _rate(model: Model, objective: Objective | None) -> float:
    factor = objective.traits().rate_factor if objective else 1.0
    return model.traits().learning_rate * factor
