"""Checks that stages of training name parts that exist, and the experiment as the components of a stage see it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ebmkit.contracts.parts import find_part
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import SectionMissing, Unsuitable
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, event_of, label_of
from ebmkit.language.stages import objective_root, part_of


def part_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that every part that a stage names is there, and that a model that has to be trained in parts is."""
    spec, event = checked.spec, event_of(checked)
    if event is None:
        return
    parts = spec.model.parts(event)
    known = ", ".join(f"{number} ('{part.name}')" for number, part in enumerate(parts, 1))
    for index, stage in enumerate(spec.stages):
        path = spec.stage_path(index)
        if stage.part is None and spec.model.traits().by_parts and "energy" not in spec.model.traits().offers:
            names = ", ".join(f"{{part: {number}, steps: {stage.steps}}}" for number in range(1, len(parts) + 1))
            yield SectionMissing(
                f"{label_of(spec.model)} is trained part by part, but this stage names no 'part'",
                here(*path),
                help=f"train: [{names}]",
            )
        if stage.part is None or find_part(parts, stage.part):
            continue
        yield Unsuitable(
            f"{label_of(spec.model)} has no part {stage.part!r}" + ("" if parts else "; it is trained as a whole"),
            here(*path, "part"),
            other=here("model"),
            other_label=f"its parts are {known}" if parts else "no parts",
            help="" if parts else "leave out 'part'",
        )


def idle_objective(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that some stage uses the objective of the spec."""
    spec = checked.spec
    if spec.objective and spec.stages and all(stage.objective for stage in spec.stages):
        yield Unsuitable(
            f"{label_of(spec.objective)} would have no effect: every stage of training has an objective of its own",
            here("objective"),
            other=here(*spec.stage_path(0), "objective"),
            help="leave out 'objective:'",
        )


def seen_from(path: Path, checked: Checked) -> list[Checked]:
    """The spec as the component at a path sees it: once for every part that its objective trains.

    There the model is the part, and the objective that of the stage. Other components see the spec as it is.
    """
    spec, root, event = checked.spec, objective_root(path), event_of(checked)
    if root is None or event is None or not spec.stages:
        return [checked]
    found: dict[int | str | None, Checked] = {}
    for index, stage in enumerate(spec.stages):
        if spec.objective_path(index) != root or stage.part in found:
            continue
        own = dataclasses.replace(spec, objective=spec.objective_of(index))
        part = part_of(spec, event, index)
        if part is not None:
            own = dataclasses.replace(own, model=part.model)
        found[stage.part] = dataclasses.replace(checked, spec=own, seen=part.event if part else checked.seen)
    return list(found.values())
