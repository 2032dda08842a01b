"""Panels of statistics recorded during training."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.engine.telling.meanings import meanings
from ebmkit.report.style import DATA, FAINT, INK, LOSS, SAMPLES, legend, legend_within, number

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

#: Colours of the series of one panel, in order.
COLORS = (DATA, SAMPLES, INK, FAINT)


def panels(view: RunView) -> list[Panel]:
    """The loss, if there is one."""
    return [Panel("training", "Loss", draw_training, wide=True)] if "loss" in view.history.series else []


def details(view: RunView) -> list[Panel]:
    """Every other statistic recorded more than once; energies are shown next to the loss."""
    series = view.history.series
    others = [
        name for name, points in series.items() if len(points) > 1 and name != "loss" and name not in energies(view)
    ]
    return [
        Panel(f"series-{name}", f"{name} over training", partial(draw_series, names=names), wide=True, detail=True)
        for name, names in families(others).items()
    ]


def energies(view: RunView) -> list[str]:
    """The energies that the objective reports with the loss."""
    series = view.history.series
    steps = len(series.get("loss", ()))
    return [name for name, points in series.items() if name.startswith("energy_") and len(points) == steps]


def families(names: Iterable[str]) -> dict[str, list[str]]:
    """Series that belong on the same axes, by the shortest name: `fid` with `fid_floor` and `fid_ceiling`."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        head = next((head for head in found if name.startswith(f"{head}_")), name)
        found.setdefault(head, []).append(name)
    return found


def draw_training(axes: Any, view: RunView) -> str:
    """The loss and, on a separate axis, the energies that the objective reports."""
    series = view.history.series
    lines = axes.plot(*zip(*series["loss"], strict=True), color=LOSS, linewidth=1.1, label="loss")
    axes.set(xlabel="step", xlim=(0, view.step))
    colors = {"data": DATA, "model": SAMPLES, "sample": SAMPLES, "noise": FAINT}
    names = energies(view)
    if names:
        right = axes.twinx()
        right.tick_params(labelsize=7.5, colors=FAINT, length=2.5, width=0.6)
        right.spines[:].set_visible(False)
    for name in names:
        color = next((color for word, color in colors.items() if word in name), INK)
        words = f"{name.replace('_', ' ')} (right)"
        lines += right.plot(*zip(*series[name], strict=True), color=color, linewidth=0.9, alpha=0.8, label=words)
    if names:
        legend_within(right, lines)  # the right axes lie above
    return " ".join(course(view, name) for name in ("loss", *names))


def draw_series(axes: Any, view: RunView, names: list[str]) -> str:
    """Statistics of one family."""
    for name, color in zip(names, cycle(COLORS), strict=False):
        points = view.history.series[name]
        few = {"marker": "o", "markersize": 2.5} if len(points) < 30 else {}
        axes.plot(*zip(*points, strict=True), color=color, linewidth=1.1, label=name, **few)
    axes.set(xlabel="step", xlim=(0, view.step))
    if len(names) > 1:
        legend(axes)
    return " ".join(course(view, name) for name in names)


def course(view: RunView, name: str) -> str:
    """What a series is, its first and its last value, as text."""
    points = view.history.series[name]
    (first, began), (last, ended) = points[0], points[-1]
    meaning = meanings(view.plan).get(name, "")
    named = f"{name} ({meaning})" if meaning else name
    if len(points) == 1:
        return f"{named}: {number(began)} at step {first:,}."
    return f"{named}: {number(began)} at step {first:,}, {number(ended)} at step {last:,}."
