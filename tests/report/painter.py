"""A plugin that adds panels to the report, two of which fail, and keeps the view it was shown."""

from __future__ import annotations

from typing import Any

from ebmkit.api import Metric, Panel, component, hookimpl

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
    axes.twinx()
    raise ZeroDivisionError(r"by zero, which costs $\price$")


def draw_formula(axes, view):
    axes.set_xlabel(r"$\nonsense{$")  # nothing happens until it is drawn


@hookimpl
def ebmkit_report_panels(view):
    VIEWS.append(view)
    return [
        Panel("red", "Red", draw_red),
        Panel("broken", "Broken", draw_broken, wide=True),
        Panel("formula", "Formula", draw_formula, wide=True),
    ]
