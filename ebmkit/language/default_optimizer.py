"""The optimizer of stages of training that have none: Adam with a learning rate for model and objective."""

from __future__ import annotations

import dataclasses

from ebmkit.components.optimizers.adam import Adam
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.sections import Spec, Train

#: The factor of the model's learning rate for objectives that see the energy at the data only: they overfit first.
LOCAL = 1 / 3


def with_optimizer(checked: Checked) -> tuple[Spec, dict[Path, str]]:
    """The spec with the default optimizer of its model in every stage that has none, and the reasons by their paths."""
    spec, reasons = checked.spec, dict[Path, str]()
    stages: list[Train] = []
    for index, stage in enumerate(spec.stages):
        path = spec.stage_path(index)
        if checked.tree.find((*path, "optimizer")) is None:
            stage = dataclasses.replace(stage, optimizer=Adam(lr=_rate(spec)))
            objective = f" and objective '{spec.objective.component_name}'" if spec.objective else ""
            reasons[*path, "optimizer", "lr"] = f"for model '{spec.model.component_name}'{objective}"
        stages.append(stage)
    if not reasons:
        return spec, {}
    return dataclasses.replace(spec, train=tuple(stages) if isinstance(spec.train, tuple) else stages[0]), reasons


def _rate(spec: Spec) -> float:
    local = spec.objective is not None and spec.objective.traits().local
    return spec.model.traits().learning_rate * (LOCAL if local else 1)
