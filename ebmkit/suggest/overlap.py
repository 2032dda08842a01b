"""A picture of the overlap of neighbouring noise levels."""

from __future__ import annotations

import io
from itertools import pairwise
from math import log, sqrt
from typing import Any

import torch

from ebmkit.report.style import DATA, FAINT, INK, RULE, SAMPLES, corner, plain_matplotlib, tidy
from ebmkit.suggest.levels import overlap, radial_density
from ebmkit.suggest.proposal import Proposal

WIDTH, HEAD, ROW, DPI = 10.5, 0.75, 2.6, 150  # inches, and dots per inch
#: Maximum number of levels whose distributions are shown.
SHOWN = 10
POINTS = 2000


def draw_overlap(proposal: Proposal) -> bytes:
    """The proposed levels and, below, those of the spec, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {"Proposed": proposal.levels}
    rows |= {f"In the spec, {own.name}": own.levels for own in proposal.own if len(own.levels) > 1}
    s, height = proposal.suited, HEAD + ROW * len(rows)
    picture = io.BytesIO()
    with plain_matplotlib():
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
        canvas = FigureCanvasAgg(figure)  # no pyplot: its figures are global
        place: dict[str, Any] = {"x": 0.45 / WIDTH, "va": "center"}
        words = f"{s.points:,} points of {s.coordinates:,} coordinates  ·  the noise of a level has length |sigma xi|"
        figure.text(
            y=1 - 0.3 / height,
            s="Overlap of neighbouring noise levels",
            fontsize=14,
            fontweight="bold",
            color=INK,
            **place,
        )
        figure.text(
            y=1 - 0.53 / height, s=f"{proposal.data.component_name}: {words}", fontsize=8.5, color=FAINT, **place
        )
        for row, (title, levels) in enumerate(rows.items()):
            bottom = (height - HEAD - ROW * (row + 1) + 0.55) / height
            left, right = ((x / WIDTH, bottom, w / WIDTH, (ROW - 0.95) / height) for x, w in ((0.45, 6.1), (7.2, 2.85)))
            shared = [overlap(s.coordinates, above / below) for above, below in pairwise(levels)]
            _laws(figure.add_axes(left), s.coordinates, levels, shared, f"{title}: {len(levels)} levels")
            _shared(figure.add_axes(right), levels, shared, overlap(s.coordinates, s.largest_ratio))
        canvas.print_figure(picture, format="png", dpi=DPI)
    return picture.getvalue()


def _laws(axes: Any, coordinates: int, levels: tuple[float, ...], shared: list[float], title: str) -> None:
    """Densities of log lengths, around the neighbours with the smallest overlap."""
    worst = shared.index(min(shared)) if max(shared) - min(shared) > 1e-6 else len(shared) // 2
    first = max(0, min(worst + 1 - SHOWN // 2, len(levels) - SHOWN))
    some = levels[first : first + SHOWN]
    typical, wide = log(sqrt(coordinates)), min(1.0, 3.5 / sqrt(2 * coordinates))
    log_r = torch.linspace(
        log(some[-1]) + typical - 2.2 * wide, log(some[0]) + typical + wide, POINTS, dtype=torch.float64
    )
    laws = [radial_density(coordinates, sigma, log_r) for sigma in some]
    r = log_r.exp()
    for law in laws:
        axes.plot(r, law, color=DATA, linewidth=1.1)
        axes.fill_between(r, law, color=DATA, alpha=0.07, linewidth=0)
    for one, next_one in pairwise(laws):
        axes.fill_between(r, torch.minimum(one, next_one), color=SAMPLES, alpha=0.45, linewidth=0)
    axes.set(xscale="log", xlim=(float(r[0]), float(r[-1])), yticks=[], xlabel="length of the noise")
    axes.set_ylim(0, float(torch.stack(laws).max()) * 1.25)
    shown = f"sigma {some[0]:.3g} to {some[-1]:.3g}"
    corner(axes, shown if len(some) == len(levels) else f"levels {first + 1} to {first + len(some)}, {shown}")
    _ticks(axes, float(r[-1] / r[0]))
    tidy(axes, title)


def _shared(axes: Any, levels: tuple[float, ...], shared: list[float], wanted: float) -> None:
    """The shared mass of each pair, at its lower level."""
    axes.axhline(wanted, color=RULE, linewidth=1)
    axes.plot(levels[1:], shared, "o", color=SAMPLES, markersize=3)
    axes.set(xscale="log", ylim=(-0.03, 1.03), xlabel="sigma of the lower level")
    corner(axes, f"minimum {min(shared):.2g}; line: {wanted:.2g}, sufficient")
    _ticks(axes, levels[1] / levels[-1])
    tidy(axes, "Mass shared by two neighbours")


def _ticks(axes: Any, reach: float) -> None:
    """Plain numbers along a logarithmic axis, more of them if it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if reach > 100 else (1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
