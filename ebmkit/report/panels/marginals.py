"""The panel of marginals: single coordinates of samples, exact draws and data."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.coordinates import chosen, is_discrete, which
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.style import DATA, EXACT, SAMPLES, corner, legend, number, small_axes, spread

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

MOST, COLUMNS = 6, 3
POINTS = 10_000
BINS = 50


def panels(view: RunView) -> list[Panel]:
    """One panel, for states of several real coordinates; not for trained image models, whose images show more."""
    plain = view.event if len(view.event) == 1 and view.event[0] > 2 else None
    if not view.can_sample or is_discrete(view) or prod(view.event) < 2 or (view.plan.spec.stages and not plain):
        return []
    return [Panel("marginals", "Marginals", draw_marginals, wide=True)]


def draw_marginals(axes: Any, view: RunView) -> str:
    """One small histogram per coordinate."""
    import numpy as np

    groups = dict(_groups(view))
    indices = chosen(view, MOST)
    columns_shown = 2 if len(indices) == 4 else min(COLUMNS, len(indices))
    frames = small_axes(axes, -(-len(indices) // columns_shown), columns_shown, gap=(0.1, 0.4), count=len(indices))
    words, distances = [], []
    for index, small in zip(indices, frames, strict=True):
        columns = {name: points[:, index].numpy() for name, (points, _) in groups.items()}
        ends = [np.quantile(values, (0.005, 0.995)) for values in columns.values()]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        bins = {"bins": BINS, "range": (low, max(high, low + 1e-6)), "density": True}
        for name, values in columns.items():
            color = groups[name][1]
            small.hist(values, **bins, histtype="stepfilled", color=color, alpha=0.18, linewidth=0)
            small.hist(values, **bins, histtype="step", color=color, linewidth=1)
        small.set(yticks=[], xlim=bins["range"])
        small.margins(y=0.2)
        small.locator_params(axis="x", nbins=3)
        named = view.names.coordinate(index)
        corner(small, named)
        words.append(f"{named} {', '.join(f'{name} {spread(values)}' for name, values in columns.items())}")
        distances += [
            (distance(columns["samples"], values), named, name) for name, values in columns.items() if name != "samples"
        ]
    for name, (_, color) in groups.items():
        axes.plot([], [], color=color, label=name)
    legend(axes)
    far = ""
    if distances:
        furthest, named, name = max(distances)
        far = f" Samples and {name} differ most at {named}: their distribution functions by {number(furthest)}."
    if len(words) > COLUMNS:
        return f"{which(view, MOST)}{len(groups['samples'][0]):,} samples.{far}"
    return f"Mean ± standard deviation: {'; '.join(words)}.{far}"


def distance(a: Any, b: Any) -> float:
    """The largest difference between two empirical distribution functions."""
    import numpy as np

    both = np.concatenate([a, b])
    below_a, below_b = (np.searchsorted(np.sort(some), both, side="right") / len(some) for some in (a, b))
    return float(np.abs(below_a - below_b).max())


def _groups(view: RunView) -> Iterator[tuple[str, tuple[Tensor, str]]]:
    """Flattened states and their colours, by name."""
    data = view.data("test")
    if data is not None:
        yield "held-out data", (data[:POINTS].flatten(1).cpu().double(), DATA)
    if has_exact(view):
        yield "exact draws", (exact_draws(view, POINTS).flatten(1).double(), EXACT)
    samples = view.samples(min(POINTS, view.plan.spec.samples))
    yield "samples", (samples.flatten(1).cpu().double(), SAMPLES)
