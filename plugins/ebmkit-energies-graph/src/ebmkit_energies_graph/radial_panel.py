"""A figure of the distances between particles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.api import torch
from ebmkit_energies_graph.particles import sorted_distances

if TYPE_CHECKING:
    from ebmkit.api import View

#: Sets whose distances are counted, and bars.
SETS, BARS = 2_000, 60


def draw_distances(axes: Any, view: View) -> str:
    """Histograms of the distances of all pairs in samples and in held-out points."""
    points = {"held-out points": view.data("test"), "samples": view.samples(SETS) if view.can_sample else None}
    distances = {name: sorted_distances(x[:SETS]) for name, x in points.items() if x is not None}
    edges = torch.linspace(0, max(float(each[-1]) for each in distances.values()), BARS + 1, dtype=torch.float64)
    for (name, each), filled in zip(distances.items(), (True, False), strict=False):
        density = torch.histc(each, BARS, 0, float(edges[-1])) / len(each) / float(edges[1])
        style = {"fill": True, "color": "0.8"} if filled else {"color": "black", "linewidth": 1.5}
        axes.stairs(density.tolist(), edges.tolist(), label=name, **style)
    axes.set(xlabel="distance of two particles", ylabel="density")
    axes.legend(frameon=False, fontsize="small")
    return "Distances of all pairs: where few are short, particles repel each other."
