"""A figure of posterior intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.api import torch
from ebmkit_bayes.estimates import names_of, quantities_of

if TYPE_CHECKING:
    from ebmkit.api import View

#: Maximum number of quantities shown, and of draws that are sorted.
MOST, DRAWS = 30, 100_000


def draw_intervals(axes: Any, view: View) -> str:
    """Median, 50 % and 90 % intervals of the quantities, with their exact means where they are known."""
    names = names_of(view.spec.model, view.event)[:MOST]
    rows = torch.cat([block.flatten(0, 1) for block in quantities_of(view, DRAWS)])[:DRAWS, : len(names)]
    levels = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95], device="cpu", dtype=torch.float64)
    low, lower, middle, upper, high = rows.cpu().double().quantile(levels, 0).tolist()
    heights = range(len(names))
    axes.hlines(heights, low, high, color="black", linewidth=1)
    axes.hlines(heights, lower, upper, color="black", linewidth=4)
    axes.plot(middle, heights, "o", color="black", markersize=5)
    caption = f"Median, 50 % and 90 % intervals of {len(rows):,} draws."
    if "reference" in view.spec.model.traits().offers:
        exact = view.module.reference().mean[: len(names)].tolist()  # type: ignore[operator]
        axes.plot(exact, heights, "|", color="tab:red", markersize=14, markeredgewidth=2)
        caption += " Red: exact means."
    axes.set(yticks=list(heights), yticklabels=names)
    axes.invert_yaxis()
    return caption
