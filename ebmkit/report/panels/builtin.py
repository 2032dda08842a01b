"""The panels of ebmkit itself, offered by the same hook as those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.states import image_shape
from ebmkit.registry.hookspecs import hookimpl
from ebmkit.report.panels import (
    categories,
    chains,
    course,
    discrete,
    energies,
    images,
    layers,
    line,
    marginals,
    mixing,
    noised,
    plane,
    recall,
    traces,
    training,
)
from ebmkit.report.panels.coordinates import is_discrete

if TYPE_CHECKING:
    from ebmkit.contracts.panel import Panel
    from ebmkit.engine.run_view import RunView


@hookimpl(trylast=True)  # pluggy then lists these first, whenever they are registered
def ebmkit_report_panels(view: RunView) -> list[Panel]:
    """The built-in panels of this run."""
    panels = []
    if image_shape(view.event):
        panels += images.panels(view)
    if view.plan.spec.model.traits().categories:
        panels += categories.panels(view)
    elif is_discrete(view):
        panels += discrete.panels(view)
    elif view.event == (1,):
        panels += line.panels(view)
    elif len(view.event) == 1:
        panels += plane.panels(view)
    if view.plan.spec.model.traits().conditioning is not None:
        panels += noised.panels(view)
    panels += [*recall.panels(view), *layers.panels(view), *course.panels(view)]
    judged = [*marginals.panels(view), *mixing.panels(view), *traces.panels(view)]
    recorded = [*training.panels(view), *energies.panels(view), *chains.panels(view), *training.details(view)]
    return [*panels, *judged, *recorded]
