"""A picture of given states next to the states made from them."""

from __future__ import annotations

import io
from math import prod
from typing import TYPE_CHECKING, Any

import torch

from ebmkit.contracts.states import image_shape
from ebmkit.report.panels import images
from ebmkit.report.style import DATA, FAINT, INK, PAPER, RULE, SAMPLES, plain_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

WIDTH, MARGIN, HEAD, DPI = 8.8, 0.6, 0.95, 150  # inches, and dots per inch
SIDE = (WIDTH - 2.4 * MARGIN) / 2
#: Maximum numbers of points, and of lines from given points.
POINTS, LINES = 2000, 300
#: Maximum number of labels that are named.
LABELS = 8
#: Colour of unknown pixels, distinct from grey.
UNKNOWN = (0.53, 0.72, 0.77)


def draw_pairs(view: RunView, given: Tensor, mask: Tensor | None, made: Tensor) -> bytes:
    """Given states `(N, *event)`, known where the mask is true, and the states made from them in cyclic order, as PNG.
    Without a mask, the given states are noisy."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    given, made = given.cpu().double(), made.cpu().double()
    rows = torch.arange(len(made)) % len(given)
    known = None if mask is None else (mask if mask.dim() == given.dim() else mask.expand_as(given)).cpu()[rows]
    names = ("Given, with noise", "Denoised") if mask is None else ("Known", "Completed")
    picture = io.BytesIO()
    with plain_matplotlib():
        height = HEAD + SIDE + MARGIN
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
        canvas = FigureCanvasAgg(figure)  # no pyplot: its figures are global
        place: dict[str, Any] = {"x": MARGIN / WIDTH, "va": "center"}
        figure.text(y=1 - 0.3 / height, s=view.plan.spec.name, fontsize=14, fontweight="bold", color=INK, **place)
        words = f"{len(made):,} states made from {len(given):,} given{_labels(view)}"
        figure.text(y=1 - 0.53 / height, s=words, fontsize=8.5, color=FAINT, **place)
        axes = _axes(figure, names, height)
        if image_shape(view.event):
            _images(axes, view, given[rows], known, made)
        else:
            _points(axes, view, given[rows], known, made)
        canvas.print_figure(picture, format="png", dpi=DPI)
    return picture.getvalue()


def _labels(view: RunView) -> str:
    """The labels of the states that were made; of several, the first."""
    if view.sample_labels is None:
        return ""
    found = [view.names.label(label) for label in dict.fromkeys(view.sample_labels.tolist())]
    words = ", ".join(found[:LABELS]) + (", ..." if len(found) > LABELS else "")
    return f", with the {'label' if len(found) == 1 else 'labels'} {words}".replace("$", r"\$")


def _axes(figure: Figure, names: tuple[str, str], height: float) -> list[Any]:
    found = []
    for column, name in enumerate(names):
        left = MARGIN + column * (SIDE + MARGIN)
        found.append(figure.add_axes((left / WIDTH, MARGIN / height, SIDE / WIDTH, SIDE / height)))
        tidy(found[-1], name)
    return found


def _images(axes: list[Any], view: RunView, given: Tensor, known: Tensor | None, made: Tensor) -> None:
    """Two grids in the same order; unknown pixels have a separate colour."""
    low, high = images.shades(view, made)
    before, after = (images.tiles(view, x, low, high).copy() for x in (given, made))
    if known is not None:
        # Drawn as an image that is 1 where all channels are unknown.
        hidden = (~known).double()
        there = images.tiles(view, hidden, 0.0, 1.0)[..., :3].min(-1) > 0
        before[there, :3] = [round(255 * part) for part in UNKNOWN]
    for one, tiles in zip(axes, (before, after), strict=True):
        one.imshow(tiles, interpolation="none")
        one.set(xticks=[], yticks=[])


def _points(axes: list[Any], view: RunView, given: Tensor, known: Tensor | None, made: Tensor) -> None:
    """The first two coordinates over the data; a single coordinate over its position in the file. A point with one
    known coordinate is a line."""
    x, y = given.flatten(1)[:POINTS], made.flatten(1)[:POINTS]
    seen = None if known is None else known.flatten(1)[:POINTS]
    if x.shape[1] == 1:  # over its position in the file
        x, y = (torch.cat([values, torch.arange(len(values)).unsqueeze(1).double()], 1) for values in (x, y))
        seen = None if seen is None else torch.cat([seen, torch.ones_like(seen)], 1)
    data = view.data("test")
    for one in axes:
        if data is not None and prod(view.event) > 1:
            backdrop = data[:POINTS].flatten(1).cpu()
            one.scatter(backdrop[:, 0], backdrop[:, 1], s=3, color=DATA, alpha=0.15, linewidths=0)
        one.set_facecolor(PAPER)
    left, right = axes
    right.scatter(y[:, 0], y[:, 1], s=5, color=SAMPLES, alpha=0.6, linewidths=0)
    if seen is None:
        left.scatter(x[:, 0], x[:, 1], s=5, color=SAMPLES, alpha=0.6, linewidths=0)
        for start, end in zip(x[:LINES], y[:LINES], strict=True):
            right.plot([start[0], end[0]], [start[1], end[1]], color=RULE, linewidth=0.5, zorder=0)
    else:
        whole, first, second = seen[:, :2].all(1), seen[:, 0] & ~seen[:, 1], ~seen[:, 0] & seen[:, 1]
        left.scatter(x[whole, 0], x[whole, 1], s=5, color=SAMPLES, alpha=0.6, linewidths=0)
        for at in set(x[first, 0][:LINES].tolist()):
            left.axvline(at, color=SAMPLES, linewidth=0.7, alpha=0.25)
        for at in set(x[second, 1][:LINES].tolist()):
            left.axhline(at, color=SAMPLES, linewidth=0.7, alpha=0.25)
    names = [view.names.coordinate(index) for index in range(min(2, prod(view.event)))] + ["position in the file"]
    both = torch.cat([x, y]) if seen is None else y
    rim = 0.05 * (both.amax(0) - both.amin(0)).clamp(min=1e-9)
    low, high = (both.amin(0) - rim).tolist(), (both.amax(0) + rim).tolist()
    limits = {"xlim": (low[0], high[0]), "ylim": (low[1], high[1])}
    for one in axes:
        one.set(xlabel=names[0], ylabel=names[1], **limits)
        tidy(one, one.get_title(loc="left"))
