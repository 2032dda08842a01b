"""The panels of ebmkit itself. They go through the same hook as those of plugins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels import (
    chains,
    discrete,
    energies,
    images,
    line,
    marginals,
    mixing,
    noised,
    plane,
    traces,
    training,
)
from ebmkit.report.panels.coordinates import is_discrete

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pluggy import HookImpl

    from ebmkit.contracts.view import View
    from ebmkit.engine.run_view import RunView


def offered_panels(view: RunView) -> list[Panel]:
    """What the page of this run shows: the panels of ebmkit, then those of plugins."""
    return [panel for hook in view.plan.hooks.ebmkit_report_panels.get_hookimpls() for panel in _offer(hook, view)]


def _offer(hook: HookImpl, view: RunView) -> list[Panel]:
    """The panels of one plugin. If its hook fails, one that says so."""
    try:
        return list(cast("list[Panel]", hook.function(**dict.fromkeys(hook.argnames, view))))
    except (Exception, SystemExit) as error:
        title = f"Panels of plugin '{hook.plugin_name}'"
        return [Panel(hook.plugin_name, title, partial(_fail, error=error), wide=True)]


def _fail(axes: Axes, view: RunView, error: BaseException) -> None:
    raise error


def builtin_panels(seen: View) -> list[Panel]:
    """What ebmkit itself can show of this run."""
    view = cast("RunView", seen)  # its own pictures show more than plugins are promised
    panels = []
    if images.shape(view.event):
        panels += images.panels(view)
    if is_discrete(view):
        panels += discrete.panels(view)
    elif view.event == (1,):
        panels += line.panels(view)
    elif len(view.event) == 1:
        panels += plane.panels(view)
    if view.plan.spec.model.conditioning is not None:
        panels += noised.panels(view)
    judged = [*marginals.panels(view), *mixing.panels(view), *traces.panels(view)]
    recorded = [*training.panels(view), *energies.panels(view), *chains.panels(view), *training.details(view)]
    return [*panels, *judged, *recorded]
