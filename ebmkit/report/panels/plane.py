"""Panels of models in the plane: data, samples, the energy and its gradient field. For longer vectors, the first two
coordinates."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import TYPE_CHECKING, Any, TypeAlias

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.panels.states import state_panels
from ebmkit.report.style import (
    BAD,
    DATA,
    ENERGY,
    EXACT,
    FAINT,
    PAPER,
    RULE,
    SAMPLES,
    corner,
    label,
    legend,
    number,
    spread,
)

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

#: A square shows points of the plane if no axis is longer than the other by more than this factor.
LONGER = 4.0

#: Left, right, bottom and top of the axes.
Square: TypeAlias = tuple[float, float, float, float]

POINTS = 4000
CROSSES = 300
#: Few enough points that the figure below them remains visible.
FEW = 400
#: Points on a side: of the energy, of its contour lines alone, and of the field of arrows.
GRID, LINE_GRID, ARROWS = 200, 100, 17
#: Energies more than this above the lowest are drawn alike, as practically never visited.
DEPTH = 8.0
LINES = (1, 2, 4, 6)


def panels(view: RunView) -> list[Panel]:
    """Data, samples and energy on the same limits, if they exist."""
    found = state_panels(view, draw_data, draw_exact, draw_samples)
    if view.has_energy and view.event == (2,):
        found.append(Panel("energy", "Energy", draw_energy))
        if "gradient" in view.plan.spec.model.traits().offers:
            found.append(Panel("score", "Score field", draw_score, detail=True))
    return found


def draw_data(axes: Any, view: RunView) -> str:
    """Points that were not used in training."""
    points = view.data("test")
    assert points is not None
    return _scatter(axes, view, points, DATA)


def draw_exact(axes: Any, view: RunView) -> str:
    """Exact draws, the target of the chains."""
    return _scatter(axes, view, exact_draws(view), EXACT)


def draw_samples(axes: Any, view: RunView) -> str:
    """Samples of the model; crosses mark divergences of long chains."""
    count = view.plan.spec.samples
    # The two coordinates of all samples; those of long chains may not fit into memory with the others.
    every = view.draws.x.flatten(2)[:, :, :2].flatten(0, 1) if view.draws else view.samples(count)
    words = _scatter(axes, view, every, SAMPLES, shown=view.samples(min(POINTS, count)))
    diverged = _diverged(view)
    if diverged is None:
        return words
    crosses = diverged[:CROSSES].cpu()
    axes.scatter(crosses[:, 0], crosses[:, 1], s=22, marker="x", color=BAD, linewidths=0.9)
    return f"{words} Crosses: {len(crosses):,} of the {len(diverged):,} draws at which a step diverged."


def draw_energy(axes: Any, view: RunView) -> str:
    """The energy above its lowest value, with some data on it."""
    from matplotlib.colors import LinearSegmentedColormap

    x, y, height = _landscape(limits(view), view.energy, GRID)
    lowest = float(height.min())
    above = (height - lowest).clamp(max=DEPTH)
    paper = LinearSegmentedColormap.from_list("energy", ENERGY)
    axes.contourf(x, y, above, levels=[DEPTH * i / 24 for i in range(25)], cmap=paper)
    axes.contour(x, y, above, levels=LINES, colors=PAPER, linewidths=0.5, alpha=0.6)
    points, words = view.data("test"), "held-out data"
    if points is None and view.can_sample:
        points, words = view.samples(min(FEW, view.plan.spec.samples)), "samples"
    if points is not None:
        shown = points[:FEW].cpu()
        axes.scatter(shown[:, 0], shown[:, 1], s=2.5, color=PAPER, alpha=0.75, linewidths=0)
    _frame(axes, view)
    label(axes, "lines at +1, +2, +4, +6" + (f"; dots: {words}" if points is not None else ""), FAINT)
    return f"Lowest {number(lowest)}, highest {number(float(height.max()))} on the square shown."


def draw_score(axes: Any, view: RunView) -> str:
    """Arrows along -dE/dx over contour lines of the energy."""
    groups = {"held-out data": (view.data("test"), DATA)}
    if view.can_sample:
        groups["samples"] = view.samples(min(FEW, view.plan.spec.samples)), SAMPLES
    for name, (points, color) in groups.items():
        if points is not None:
            shown = points[:FEW].cpu()
            axes.scatter(shown[:, 0], shown[:, 1], s=4, color=color, alpha=0.6, linewidths=0, label=name)
    draw_lines(axes, limits(view), view.energy)
    words = draw_arrows(axes, limits(view), view.score)
    _frame(axes, view)
    if axes.get_legend_handles_labels()[0]:
        legend(axes, markerscale=2)
    return f"Arrows: -dE/dx on a grid, {words} Lines: energy at +1, +2, +4, +6."


def draw_lines(axes: Any, square: Square, energy: Callable[[Tensor], Tensor]) -> None:
    """Faint contour lines of an energy."""
    x, y, height = _landscape(square, energy, LINE_GRID)
    axes.contour(x, y, (height - height.min()).clamp(max=2 * DEPTH), levels=LINES, colors=RULE, linewidths=0.8)


def draw_arrows(axes: Any, square: Square, field: Callable[[Tensor], Tensor]) -> str:
    """Arrows along a field. Long ones are shortened, so that they do not hide the rest. Returns a note on lengths."""
    grid = _grid(square, ARROWS, margin=0.5 / ARROWS)
    score = field(grid).cpu()
    norm = score.norm(dim=1)
    usual = norm.median()
    arrow = score / (norm + usual)[:, None].clamp(min=1e-12)
    look = {"color": FAINT, "width": 0.0022, "headwidth": 4.5, "headlength": 5, "headaxislength": 4.5}
    axes.quiver(*grid.T, *arrow.T, angles="xy", scale_units="width", scale=ARROWS * 1.1, pivot="mid", **look)
    return (
        f"of norm {number(float(norm.min()))} to {number(float(norm.max()))}, median {number(float(usual))}; the "
        "length of an arrow saturates beyond the median."
    )


def limits(view: RunView) -> Square:
    """A square around the data; without data, around exact draws or samples, except outliers. For longer vectors, whose
    coordinates may have different scales, it is a rectangle."""
    points = view.data("test")
    if points is None and has_exact(view):
        points = exact_draws(view, POINTS)
    if points is None:
        points = view.samples(min(POINTS, view.plan.spec.samples)) if view.can_sample else None
    return (-3, 3, -3, 3) if points is None else around(points)


def around(points: Tensor) -> Square:
    """Limits around the points except outliers, with a margin: a square for points of the plane, unless one axis is
    much longer."""
    in_the_plane = points.shape[1:] == (2,)
    points = points[:POINTS, :2].cpu().double()  # data may be narrow and far from the origin
    low, high = points.quantile(0.002, dim=0), points.quantile(0.998, dim=0)
    x, y = ((low + high) / 2).tolist()
    half = (high - low) / 2 * 1.15
    half = half.where(half > 0, half.max() if bool(half.any()) else 1e-6)
    square = in_the_plane and bool(half.max() <= LONGER * half.min())
    across, up = (half.max().expand(2) if square else half).tolist()
    return x - across, x + across, y - up, y + up


def aspect(square: Square) -> str:
    """That of the axes: equal units in both directions if the limits are a square."""
    left, right, bottom, top = square
    return "equal" if isclose(right - left, top - bottom, rel_tol=1e-6) else "auto"


def outside(points: Tensor, square: Square) -> int:
    """Number of points outside the square, including those that are not finite."""
    left, right, bottom, top = square
    x, y = points.unbind(1)
    return int((~((x >= left) & (x <= right) & (y >= bottom) & (y <= top))).sum())


def _scatter(axes: Any, view: RunView, points: Tensor, color: str, shown: Tensor | None = None) -> str:
    """Scatter plot of the first points, or of those given as `shown`."""
    shown = (points if shown is None else shown)[:POINTS, :2].cpu()
    axes.scatter(shown[:, 0], shown[:, 1], s=2.2, color=color, alpha=0.45, linewidths=0)
    _frame(axes, view)
    lost = outside(shown, limits(view))
    many = lost > len(shown) / 100
    label(axes, f"{len(shown):,} shown" + (f", {lost} outside" if lost else ""), BAD if many else FAINT)
    x, y = (spread(side) for side in points[:, :2].cpu().double().unbind(1))
    return f"{len(shown):,} of {len(points):,} points. Mean ± standard deviation of all: {x} across, {y} up."


def _diverged(view: RunView) -> Tensor | None:
    """The draws of long chains at which steps diverged, if any did."""
    if view.draws is None or not bool((divergence := view.draws.seen.get("divergence", view.draws.x[:0])).any()):
        return None
    return view.draws.x[divergence > 0]


def _landscape(square: Square, energy: Callable[[Tensor], Tensor], side: int) -> tuple[Tensor, Tensor, Tensor]:
    """The coordinates of a grid, each `(side, side)`, and the energy on it."""
    grid = _grid(square, side)
    x, y = (values.reshape(side, side) for values in grid.unbind(1))
    return x, y, energy(grid).cpu().reshape(side, side)


def _grid(square: Square, side: int, margin: float = 0.0) -> Tensor:
    """Points `(side * side, 2)` on a grid over the square, except for a margin."""
    import torch

    left, right, bottom, top = square
    wide, high = margin * (right - left), margin * (top - bottom)
    across = torch.linspace(left + wide, right - wide, side, dtype=torch.float64)
    up = torch.linspace(bottom + high, top - high, side, dtype=torch.float64)
    x, y = torch.meshgrid(across, up, indexing="xy")
    return torch.stack([x.flatten(), y.flatten()], dim=1)


def _frame(axes: Any, view: RunView) -> None:
    left, right, bottom, top = limits(view)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    if view.event == (2,):
        axes.set_aspect(aspect((left, right, bottom, top)))
    if view.event != (2,) or view.names.shown:
        corner(axes, f"{view.names.coordinate(1)} over {view.names.coordinate(0)}")
    axes.locator_params(nbins=6)
