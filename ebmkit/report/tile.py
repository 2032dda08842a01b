"""A panel as pixels, for the summary picture."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from ebmkit.contracts.panel import Panel
from ebmkit.report.layout import DPI, GAP, MARGIN, Place
from ebmkit.report.panels.problem import problem
from ebmkit.report.style import BAD, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy import ndarray


#: Letters and lines of the size in which errors are written, per inch.
LETTERS, LINES = 15, 7


class Tile(NamedTuple):
    """Pixels `(rows, columns, RGBA)`, and the distances of their lower left corner from that of the axes, in inches."""

    pixels: ndarray
    left: float
    below: float


def tile(figure: Figure, axes: Any, title: str, place: Place) -> Tile:
    """The figure of a panel with its title, in the size that it has in the picture.

    Its margins are as wide as the gaps of the picture, in which labels of neighbours may lie: the rest is transparent.
    """
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    left = min(GAP, place.left)
    width, height = left + place.width + MARGIN, place.height + 2 * GAP
    figure.set_layout_engine("none")
    figure.set_dpi(DPI)
    figure.set_size_inches(width, height)
    tidy(axes, title)
    _fit(figure, Bbox.from_bounds(left / width, GAP / height, place.width / width, place.height / height))
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return Tile(np.asarray(canvas.buffer_rgba()).copy(), left, GAP)


def error_tile(panel: Panel, error: BaseException, place: Place) -> Tile:
    """The error of a panel in its place."""
    from matplotlib.figure import Figure

    figure = Figure(facecolor="none")
    axes = figure.add_subplot()
    width, height = int(place.width * LETTERS), int(place.height * LINES)
    said = textwrap.fill(problem(panel, error, " "), width, max_lines=max(1, height), placeholder=" ...")
    axes.text(0.5, 0.5, _literally(said), ha="center", va="center", color=BAD, fontsize=8)
    axes.set(xticks=[], yticks=[])
    return tile(figure, axes, _literally(panel.title), place)


def _fit(figure: Figure, box: Any) -> None:
    """Move all axes, such as those of colour bars that a panel added, so that together they fill the box."""
    from matplotlib.transforms import Bbox, BboxTransform

    before = [axes.get_position(original=True) for axes in figure.axes]
    move = BboxTransform(Bbox.union(before), box)
    for axes, old in zip(figure.axes, before, strict=True):
        axes.set_position(old.transformed(move))


def _literally(words: str) -> str:
    """Text without formulas, since a formula may be what failed."""
    return words.replace("$", r"\$")
