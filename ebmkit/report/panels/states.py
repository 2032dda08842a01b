"""The panels of states: data, exact draws and samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.exact import has_exact

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

Draw = Callable[..., str | None]


def state_panels(view: RunView, data: Draw, exact: Draw, samples: Draw) -> list[Panel]:
    """The panels of data, exact draws and samples, if they exist."""
    found = []
    if view.data("test") is not None:
        found.append(Panel("data", "Held-out data", data))
    if has_exact(view):
        found.append(Panel("exact", "Exact draws", exact))
    if view.can_sample:
        found.append(Panel("samples", "Samples of the model", samples))
    return found
