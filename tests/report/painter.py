"""A plugin that adds panels to the report, one of which fails, and keeps the view it was shown."""

from __future__ import annotations

from typing import Any

from ebmkit.api import Metric, component, hookimpl
from ebmkit.report.panel import Panel

VIEWS: list[Any] = []


@component("nothing")
class Nothing(Metric):
    """Measures nothing: a spec that names it brings the plugin in."""

    def results(self):
        return ()

    def measure(self, view):
        return {}


def draw_red(axes, view):
    axes.axvspan(0, 1, color="#ff0000")


def draw_broken(axes, view):
    raise ZeroDivisionError("by zero")


@hookimpl
def ebmkit_report_panels(view):
    VIEWS.append(view)
    return [Panel("red", "Red", draw_red), Panel("broken", "Broken", draw_broken, wide=True)]
