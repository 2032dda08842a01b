"""Panels of models in the plane: data, samples, and the energy between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.report.panel import Panel
from ebmkit.report.style import BAD, DATA, ENERGY, FAINT, SAMPLES, label

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.view import View

POINTS = 4000
GRID = 200
#: Energies so far above the lowest one count as "nobody comes here".
DEPTH = 8.0


def panels(view: View) -> list[Panel]:
    """Data, samples and energy on the same limits, as far as they exist."""
    found = []
    if view.data("test") is not None:
        found.append(Panel("data", "Held-out data", draw_data))
    if view.can_sample:
        found.append(Panel("samples", "Samples of the model", draw_samples))
    if view.has_energy:
        found.append(Panel("energy", "Energy", draw_energy))
    return found


def draw_data(axes: Any, view: View) -> None:
    """The points that the model has not seen."""
    points = view.data("test")
    assert points is not None
    _scatter(axes, view, points, DATA)


def draw_samples(axes: Any, view: View) -> None:
    """As many points of the model."""
    _scatter(axes, view, view.samples(view.plan.spec.samples), SAMPLES)


def draw_energy(axes: Any, view: View) -> None:
    """The energy above its lowest value, with some data on it."""
    import torch
    from matplotlib.colors import LinearSegmentedColormap

    left, right, bottom, top = _limits(view)
    x, y = torch.meshgrid(torch.linspace(left, right, GRID), torch.linspace(bottom, top, GRID), indexing="xy")
    grid = torch.stack([x.flatten(), y.flatten()], dim=1)
    height = view.energy(grid).cpu().reshape(GRID, GRID)
    height = (height - height.min()).clamp(max=DEPTH)
    paper = LinearSegmentedColormap.from_list("energy", ENERGY)
    axes.contourf(x, y, height, levels=[DEPTH * i / 24 for i in range(25)], cmap=paper)
    axes.contour(x, y, height, levels=[1, 2, 4, 6], colors="white", linewidths=0.5, alpha=0.6)
    points, words = view.data("test"), "held-out data"
    if points is None and view.can_sample:
        points, words = view.samples(min(400, view.plan.spec.samples)), "samples"
    if points is not None:
        shown = points[:400].cpu()
        axes.scatter(shown[:, 0], shown[:, 1], s=2.5, color="white", alpha=0.75, linewidths=0)
    _frame(axes, view)
    label(axes, "lines at +1, +2, +4, +6" + (f"; dots: {words}" if points is not None else ""), FAINT)


def _scatter(axes: Any, view: View, points: Tensor, color: str) -> None:
    shown = points[:POINTS].cpu()
    axes.scatter(shown[:, 0], shown[:, 1], s=2.2, color=color, alpha=0.45, linewidths=0)
    _frame(axes, view)
    left, right, bottom, top = _limits(view)
    x, y = shown.unbind(1)
    outside = int(((x < left) | (x > right) | (y < bottom) | (y > top)).sum())
    many = outside > len(shown) / 100
    label(axes, f"{len(shown):,} shown" + (f", {outside} outside" if outside else ""), BAD if many else FAINT)


def _frame(axes: Any, view: View) -> None:
    left, right, bottom, top = _limits(view)
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.locator_params(nbins=6)


def _limits(view: View) -> tuple[float, float, float, float]:
    """A square around the data; without data, around all but the strangest samples."""
    points = view.data("test")
    if points is None:
        points = view.samples(view.plan.spec.samples) if view.can_sample else None
    if points is None:
        return -3, 3, -3, 3
    points = points[:POINTS].cpu()
    low, high = points.quantile(0.002, dim=0), points.quantile(0.998, dim=0)
    middle = (low + high) / 2
    half = float((high - low).max()) / 2 * 1.15
    x, y = middle.tolist()
    return x - half, x + half, y - half, y + half
