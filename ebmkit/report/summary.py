"""The summary picture: all main panels of a run."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.judgement import LEVELS
from ebmkit.engine.expectations import claim_in_words, is_met
from ebmkit.engine.telling.verdict_words import SENTENCES
from ebmkit.report.drawn import Drawn, draw_panels
from ebmkit.report.layout import DPI, MARGIN, WIDTH, arranged
from ebmkit.report.recipe import recipe
from ebmkit.report.style import BAD, FAINT, GOOD, INK, plain_matplotlib

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView


def draw_summary(view: RunView, status: str = "finished", drawn: list[Drawn] | None = None) -> bytes:
    """The picture as PNG. A panel that fails shows its error in its place and does not stop the run.

    `drawn` are the panels if they were drawn before, for the report.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = draw_panels(view, page=False) if drawn is None else drawn
    main = [each for each in drawn if not each.panel.detail]
    places, height = arranged([each.panel for each in main])
    picture = io.BytesIO()
    with plain_matplotlib():
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
        canvas = FigureCanvasAgg(figure)  # no pyplot: its figures are global
        _head(figure, view, status, height)
        for position, each in enumerate(main):
            if each.tile is not None:
                place, corner = places[position], each.tile
                x, y = place.left - corner.left, height - place.top - place.height - corner.below
                figure.figimage(corner.pixels, round(DPI * x), round(DPI * y))
        canvas.print_figure(picture, format="png", dpi=DPI)
    return picture.getvalue()


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
    if name == "verdict" and value is not None and value in range(len(LEVELS)):
        shown = SENTENCES[LEVELS[int(value)]]
    figure.text(right, first, shown, fontsize=12, color=INK, va="center", ha="right")
    if spec.expect:
        met = value is not None and is_met(spec.expect[0], value)
        verdict, color = ("✓", GOOD) if met else ("✗", BAD)
        words = f"{verdict} expected {claim_in_words(spec.expect[0])}"
        figure.text(right, second, words, fontsize=8.5, color=color, va="center", ha="right")
