"""All panels of a run: those of ebmkit, then those of plugins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ebmkit.contracts.panel import Panel
from ebmkit.errors.describe import type_name
from ebmkit.report.panels import builtin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pluggy import HookImpl

    from ebmkit.engine.run_view import RunView


def offered_panels(view: RunView) -> list[Panel]:
    """All panels for the report of this run."""
    plan = view.plan
    if not plan.manager.is_registered(builtin):  # here, because the registry comes before the report
        plan.manager.register(builtin, "ebmkit.report")
    return [panel for hook in plan.hooks.ebmkit_report_panels.get_hookimpls() for panel in _offer(hook, view)]


def _offer(hook: HookImpl, view: RunView) -> list[Panel]:
    """The panels of one plugin; if its hook fails, one panel with the error."""
    try:
        offered = list(cast("list[Any]", hook.function(**dict.fromkeys(hook.argnames, view))))
        return [_checked(panel) for panel in offered]
    except (Exception, SystemExit) as error:
        title = f"Panels of plugin '{hook.plugin_name}'"
        return [Panel(hook.plugin_name, title, partial(_fail, error=error), wide=True)]


def _checked(panel: Any) -> Panel:
    """The page relies on these types before anything is drawn."""
    if type(panel) is not Panel or type(panel.name) is not str or type(panel.title) is not str:
        raise TypeError(f"it offers an object of type {type_name(panel)}, not a Panel with a name and a title")
    return panel


def _fail(axes: Axes, view: RunView, error: BaseException) -> None:
    raise error
