"""The panels of ebmkit itself. They go through the same hook as those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.report import images, plane
from ebmkit.report.panel import Panel
from ebmkit.report.style import DATA, FAINT, INK, LOSS, SAMPLES, legend

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.view import View

#: As many points as still can be told apart.
POINTS = 5000


def offered_panels(view: View) -> list[Panel]:
    """What the page of this run shows: the panels of ebmkit, then those of plugins."""
    offers = view.plan.hooks.ebmkit_report_panels(view=view)
    return [panel for offer in reversed(offers) for panel in offer]  # pluggy asks the last one registered first


def builtin_panels(view: View) -> list[Panel]:
    """What ebmkit itself can show of this run."""
    panels = []
    if view.event == (2,):
        panels += plane.panels(view)
    elif images.shape(view.event):
        panels += images.panels(view)
    if "loss" in view.history.series:
        panels.append(Panel("training", "Training", draw_training, wide=True))
    if view.has_energy and (view.can_sample or view.data("test") is not None):
        panels.append(Panel("energies", "Energies", draw_energies, wide=True))
    return panels


def draw_training(axes: Any, view: View) -> None:
    """The loss and, on an axis of their own, the energies that the objective reports."""
    series = view.history.series
    lines = axes.plot(*zip(*series["loss"], strict=True), color=LOSS, linewidth=1.1, label="loss")
    axes.set(xlabel="step", xlim=(0, view.step))
    colors = {"data": DATA, "model": SAMPLES, "sample": SAMPLES, "noise": FAINT}
    energies = {name: points for name, points in series.items() if "energy" in name and name != "loss"}
    if energies:
        right = axes.twinx()
        right.tick_params(labelsize=7.5, colors=FAINT, length=2.5, width=0.6)
        right.spines[:].set_visible(False)
    for name, points in energies.items():
        color = next((color for word, color in colors.items() if word in name), INK)
        words = f"{name.replace('_', ' ')} (right)"
        lines += right.plot(*zip(*points, strict=True), color=color, linewidth=0.9, alpha=0.8, label=words)
    legend(axes, lines)


def draw_energies(axes: Any, view: View) -> None:
    """How the model rates what it has not seen, and what it makes."""
    groups: list[tuple[str, Tensor | None, str]] = [("held-out data", view.data("test"), DATA)]
    if view.can_sample:
        groups.append(("samples", view.samples(min(POINTS, view.plan.spec.samples)), SAMPLES))
    energies = [(name, view.energy(x[:POINTS]).cpu().numpy(), color) for name, x, color in groups if x is not None]
    low = min(float(values.min()) for _, values, _ in energies)
    high = max(float(values.max()) for _, values, _ in energies)
    for name, values, color in energies:
        bins = {"bins": 80, "range": (low, high), "density": True, "color": color}
        axes.hist(values, **bins, histtype="stepfilled", alpha=0.25, linewidth=0)
        axes.hist(values, **bins, histtype="step", linewidth=1, label=name)
    axes.set(xlabel="energy", yticks=[])
    legend(axes)
