"""The number of samples of metrics for which a spec sets none: at most its own `samples`."""

from __future__ import annotations

import dataclasses

from ebmkit.contracts.kinds import Metric
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked


def bounded(checked: Checked) -> tuple[Checked, set[Path]]:
    """The spec with such metrics replaced, and the paths of the numbers that were.

    A number that is written for a metric is obeyed, even if it is larger. The number is part of the plan, so that
    `resolved.yaml` shows it and names of results may contain it. It is shown as a comment there, not written.
    """
    replaced: dict[int, Metric] = {}
    paths: set[Path] = set()
    for position, metric in enumerate(checked.spec.evaluate):
        path = _own_path(checked, position)
        if checked.tree.find((*path, "samples")) is None:
            made = metric.bounded(checked.spec.samples)
            if made is not metric:
                replaced[id(metric)] = made
                paths.add((*path, "samples"))
    if not replaced:
        return checked, paths
    evaluate = tuple(replaced.get(id(metric), metric) for metric in checked.spec.evaluate)
    parts = {name: replaced.get(id(part), part) for name, part in checked.parts.items()}
    spec = dataclasses.replace(checked.spec, evaluate=evaluate)
    return dataclasses.replace(checked, spec=spec, parts=parts), paths


def _own_path(checked: Checked, position: int) -> Path:
    """Where a metric is written: under `evaluate:`, or under `parts:` if it is a reference."""
    node = checked.tree.find(("evaluate", position))
    if node and isinstance(node.value, str) and node.value.startswith("$"):
        return ("parts", node.value[1:])
    return ("evaluate", position)
