"""What the stages of training work on: the model or one of its parts, the shape that it sees, and the objective."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ebmkit.contracts.parts import Part, find_part

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Event
    from ebmkit.errors.source import Path
    from ebmkit.language.check import Checked
    from ebmkit.language.sections import Spec


def part_of(spec: Spec, event: Event, stage: int) -> Part | None:
    """The part that a stage trains; None if that is the whole model, or if the model has no such part."""
    wanted = spec.stages[stage].part
    return None if wanted is None else find_part(spec.model.parts(event), wanted)


def objective_root(path: Path) -> Path | None:
    """The path of the objective that has the component at `path` among its parameters; None if it is in none."""
    if path[:1] == ("objective",):
        return path[:1]
    if path[:1] != ("train",):
        return None
    # Of the only stage, or of a stage in a list.
    return next((path[: at + 1] for at in (1, 2) if path[at : at + 1] == ("objective",)), None)


def with_stages(checked: Checked) -> tuple[Checked, dict[Path, str]]:
    """The spec with a stage for each part, if its only stage names none and the model is trained part by part only, or
    part by part before it is trained as a whole. The reason is returned by its path."""
    spec = checked.spec
    if isinstance(spec.train, tuple) or spec.train is None or spec.train.part is not None:
        return checked, {}
    try:
        event = spec.data.event() if spec.data else spec.model.event()
        traits = spec.model.traits()
        parts = spec.model.parts(event) if event and (traits.by_parts or traits.pretrained) else ()
    except Exception:  # of a component, which the checks that follow report
        return checked, {}
    if not parts:
        return checked, {}
    stages = tuple(dataclasses.replace(spec.train, part=part.name) for part in parts)
    why = f"model '{spec.model.component_name}' is trained part by part"
    if traits.pretrained:
        stages, why = (*stages, spec.train), f"{why}, then as a whole"
    return dataclasses.replace(checked, spec=dataclasses.replace(spec, train=stages)), {("train",): why}
