"""The common style of all figures, on light and dark pages."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INK, FAINT, RULE, PAPER = "#1f2937", "#667080", "#d1d5db", "#ffffff"
#: Colours have the same meaning in every panel.
DATA, SAMPLES, EXACT, LOSS = "#2563a8", "#d9622b", "#0f857a", INK
#: Colours of parallel chains.
CHAINS = (SAMPLES, "#7f3512", "#b0851f", "#a04a78")
GOOD, BAD = "#15803d", "#b91c1c"
#: From probable (dark) to improbable (paper).
ENERGY = ("#10243f", "#1c4f7c", "#3f86a8", "#86b8c4", "#c9dfe0", "#eef4f3", "#fdfdfc")

#: Names of colours in the page, with their values on a light and on a dark page.
THEME = {
    "ink": (INK, "#e6e8eb"),
    "faint": (FAINT, "#9aa4b2"),
    "rule": (RULE, "#343a45"),
    "paper": (PAPER, "#14161b"),
    "data": (DATA, "#6ea6e0"),
    "samples": (SAMPLES, "#ee8a58"),
    "exact": (EXACT, "#45b8a9"),
    "chain-1": (CHAINS[1], "#c2683c"),
    "chain-2": (CHAINS[2], "#e3bd62"),
    "chain-3": (CHAINS[3], "#d589b3"),
    "good": (GOOD, "#4cc38a"),
    "bad": (BAD, "#ff8078"),
}


def palette(count: int) -> list[tuple[float, float, float]]:
    """Colours of categories, as different as possible from those before them, as red, green and blue."""
    known = (DATA, SAMPLES, EXACT, *CHAINS[2:], CHAINS[1])
    found = [tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)) for color in known]
    # Beyond these, hues by the golden ratio.
    found += [colorsys.hls_to_rgb(k * 0.618 % 1, (0.35, 0.55, 0.75)[k % 3], 0.6) for k in range(count - len(found))]
    return [(red, green, blue) for red, green, blue in found[:count]]


def night() -> str:
    """A colour matrix for raster images: light becomes dark and keeps its hue, white becomes the dark paper.

    With the rotation M of all hues by 180 degrees, a colour x becomes paper + s M (1 - x).
    """
    rotation = ((-0.574, 1.430, 0.144), (0.426, 0.430, 0.144), (0.426, 1.430, -0.856))
    strength = 0.92
    paper = [int(THEME["paper"][1][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    rows = [
        (-strength * r, -strength * g, -strength * b, 0, base + strength)
        for (r, g, b), base in zip(rotation, paper, strict=True)
    ]
    return "  ".join(" ".join(f"{part:.3f}" for part in row) for row in [*rows, (0, 0, 0, 1, 0)])


@contextmanager
def plain_matplotlib() -> Iterator[None]:
    """matplotlib with its defaults, regardless of the user's `matplotlibrc`."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.fonttype"] = "none"  # keep text as text, for search and screen readers
        matplotlib.rcParams["svg.hashsalt"] = "ebmkit"  # the same figure has the same ids
        yield


def tidy(axes: Any, title: str = "") -> None:
    """Apply the style to axes: title on the left, thin frames, faint ticks."""
    axes.set_title(title, loc="left", fontsize=10, color=INK, pad=6)
    axes.tick_params(labelsize=7.5, colors=FAINT, length=2.5, width=0.6)
    for side in axes.spines.values():
        side.set(color=RULE, linewidth=0.8)
    axes.xaxis.label.set(fontsize=8, color=FAINT)
    axes.yaxis.label.set(fontsize=8, color=FAINT)


def small_axes(
    axes: Any,
    rows: int,
    columns: int,
    gap: tuple[float, float],
    room: tuple[float, float] = (0.0, 0.0),
    count: int | None = None,
) -> list[Any]:
    """A grid of small axes in place of `axes`, row by row; `gap` is the space between them, in widths and heights, and
    `room` the free space on the left and on the right. With `count` there are only the first of them, so that no frame
    in the last row is empty."""
    axes.set_axis_off()
    across, up = gap
    width, height = (1 - sum(room)) / (columns + (columns - 1) * across), 1 / (rows + (rows - 1) * up)
    found = []
    for number in range(rows * columns if count is None else count):
        row, column = divmod(number, columns)
        place = (room[0] + column * width * (1 + across), 1 - height - row * height * (1 + up), width, height)
        found.append(axes.inset_axes(place, facecolor="none"))
        tidy(found[-1])
    return found


def legend(axes: Any, markerscale: float = 1) -> None:
    """A legend above the axes, opposite the title, where it hides nothing."""
    place = {"loc": "lower right", "bbox_to_anchor": (1.01, 0.99), "borderaxespad": 0.2, "frameon": False, "ncols": 4}
    look = {"fontsize": 7.5, "labelcolor": INK, "columnspacing": 1.2, "handlelength": 1.2}
    if axes.get_legend_handles_labels()[0]:
        axes.legend(markerscale=markerscale, **place, **look)


def legend_within(axes: Any, lines: Any) -> None:
    """A legend in the corner where it hides least, for text that may not fit above the axes."""
    place = {"loc": "best", "facecolor": PAPER, "edgecolor": "none", "framealpha": 0.7}
    axes.legend(handles=lines, fontsize=7.5, labelcolor=INK, handlelength=1.2, **place)


def corner(axes: Any, words: str, *, right: bool = False) -> None:
    """Small text in an upper corner of the axes."""
    place = {"transform": axes.transAxes, "va": "top", "ha": "right" if right else "left"}
    paper = {"facecolor": PAPER, "alpha": 0.6, "linewidth": 0, "pad": 1}
    axes.text(0.98 if right else 0.02, 0.96, words, fontsize=7.5, color=INK, bbox=paper, **place)


def label(axes: Any, words: str, color: str = FAINT) -> None:
    """Small text in the lower right corner of the axes."""
    paper = {"facecolor": PAPER, "alpha": 0.7, "linewidth": 0, "pad": 1.5}
    place = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
    axes.text(0.98, 0.02, words, fontsize=7.5, color=color, bbox=paper, **place)


def spread(values: Any) -> str:
    """Mean and standard deviation of an array or tensor."""
    deviation = float(values.std()) if len(values) > 1 else 0.0
    return f"{float(values.mean()):.3g}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{deviation:.3g}"


def number(value: float) -> str:
    """Four digits, with commas in large ones: 0.01141, 12,340."""
    shown = f"{value:.4g}"
    return f"{value:,.0f}" if "e+" in shown and abs(value) < 1e9 else shown
