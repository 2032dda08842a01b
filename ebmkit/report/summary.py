"""The summary picture: all main panels of a run."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.engine.expectations import claim_in_words, is_met
from ebmkit.report.panels.offered import offered_panels
from ebmkit.report.panels.problem import problem
from ebmkit.report.recipe import recipe
from ebmkit.report.style import BAD, FAINT, GOOD, INK, plain_matplotlib, tidy

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

WIDTH, MARGIN, GAP = 10.5, 0.45, 0.55  # inches
HEADER, SQUARE, WIDE = 0.95, (WIDTH - 2 * MARGIN - 2 * GAP) / 3, 1.75
COLUMNS, DPI = 6, 150


def draw_summary(view: RunView, status: str = "finished") -> bytes:
    """The picture as PNG. A panel that fails shows its error in its place and does not stop the run."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = _rows([panel for panel in offered_panels(view) if not panel.detail])
    height = HEADER + sum(tall + GAP for _, tall in rows)
    column = (WIDTH - 2 * MARGIN + GAP) / COLUMNS
    top = height - HEADER
    picture = io.BytesIO()
    with plain_matplotlib():
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
        canvas = FigureCanvasAgg(figure)  # no pyplot: its figures are global
        _head(figure, view, status, height)
        for row, tall in rows:
            left = MARGIN
            for panel, span in row:
                width = span * column - GAP
                place = (left / WIDTH, (top - tall) / height, width / WIDTH, tall / height)
                _draw(panel, figure.add_axes(place), view)
                left += span * column
            top -= tall + GAP
        canvas.print_figure(picture, format="png", dpi=DPI)
    return picture.getvalue()


def _rows(panels: list[Panel]) -> list[tuple[list[tuple[Panel, int]], float]]:
    """Panels with the columns of each, row by row: squares first, then wide ones, the first of them next to the last
    squares if there is room."""
    squares = [(panel, 2) for panel in panels if not panel.wide]
    wides = [panel for panel in panels if panel.wide]
    rows = [(squares[first : first + 3], SQUARE) for first in range(0, len(squares), 3)]
    if len(squares) % 3 and wides:
        rows[-1][0].append((wides.pop(0), COLUMNS - 2 * (len(squares) % 3)))
    for first in range(0, len(wides), 2):
        pair = wides[first : first + 2]
        rows.append(([(panel, COLUMNS // len(pair)) for panel in pair], WIDE))
    return rows


def _draw(panel: Panel, axes: Any, view: RunView) -> None:
    figure = axes.figure
    others = list(figure.axes)
    try:
        panel.draw(axes, view)
        tidy(axes, panel.title)
        for drawn in [axes, *figure.axes[len(others) :]]:
            drawn.draw(figure.canvas.get_renderer())  # some errors, such as in formulas of labels, appear only now
    except (Exception, SystemExit) as error:
        for added in figure.axes[len(others) :]:
            added.remove()
        axes.clear()
        said = problem(panel, error, "\n")
        axes.text(0.5, 0.5, _literally(said), ha="center", va="center", color=BAD, fontsize=8, wrap=True)
        tidy(axes, _literally(panel.title))
        axes.set(xticks=[], yticks=[])


def _literally(words: str) -> str:
    """Text without formulas, since a formula may be what failed."""
    return words.replace("$", r"\$")


def _head(figure: Any, view: RunView, status: str, height: float) -> None:
    """Name and recipe on the left, the main result on the right."""
    spec = view.plan.spec
    left, right, first, second = MARGIN / WIDTH, 1 - MARGIN / WIDTH, 1 - 0.3 / height, 1 - 0.53 / height
    figure.text(left, first, spec.name, fontsize=14, fontweight="bold", color=INK, va="center")
    figure.text(left, second, "  ·  ".join(recipe(view)), fontsize=8.5, color=FAINT, va="center")
    if status != "finished":
        color = BAD if status in ("diverged", "failed") else FAINT
        figure.text(right, first, status, fontsize=12, color=color, va="center", ha="right")
        return
    name = spec.expect[0].metric if spec.expect else next(iter(view.results), None)
    if name is None:
        return
    value = view.results.get(name)
    shown = f"{name}: failed" if value is None else f"{name} = {value:.4g}"
    figure.text(right, first, shown, fontsize=12, color=INK, va="center", ha="right")
    if spec.expect:
        met = value is not None and is_met(spec.expect[0], value)
        verdict, color = ("✓", GOOD) if met else ("✗", BAD)
        words = f"{verdict} expected {claim_in_words(spec.expect[0])}"
        figure.text(right, second, words, fontsize=8.5, color=color, va="center", ha="right")
