"""One look for all pictures."""

from __future__ import annotations

from typing import Any

INK, FAINT, RULE = "#1f2937", "#6b7280", "#d1d5db"
#: The same things have the same colours in every panel.
DATA, SAMPLES, LOSS = "#2563a8", "#d9622b", "#1f2937"
GOOD, BAD = "#15803d", "#b91c1c"
#: From likely (dark) to unlikely (paper).
ENERGY = ("#10243f", "#1c4f7c", "#3f86a8", "#86b8c4", "#c9dfe0", "#eef4f3", "#fbfbf9")


def tidy(axes: Any, title: str) -> None:
    """A title on the left, thin frames, quiet ticks."""
    axes.set_title(title, loc="left", fontsize=10, color=INK, pad=6)
    axes.tick_params(labelsize=7.5, colors=FAINT, length=2.5, width=0.6)
    for side in axes.spines.values():
        side.set(color=RULE, linewidth=0.8)
    axes.xaxis.label.set(fontsize=8, color=FAINT)
    axes.yaxis.label.set(fontsize=8, color=FAINT)


def legend(axes: Any, lines: Any = None) -> None:
    """Above the axes, opposite the title, where it hides nothing."""
    place = {"loc": "lower right", "bbox_to_anchor": (1.01, 0.99), "borderaxespad": 0.2}
    look = {"fontsize": 7.5, "frameon": False, "labelcolor": INK, "ncols": 4, "columnspacing": 1.2, "handlelength": 1.2}
    axes.legend(handles=lines, **place, **look)


def label(axes: Any, words: str, color: str = FAINT) -> None:
    """Small words in the lower right corner of the axes."""
    axes.text(0.98, 0.02, words, transform=axes.transAxes, ha="right", va="bottom", fontsize=7.5, color=color)
