"""Panels of models of categorical units: shares of categories by unit, and samples as text."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.discrete import all_samples, draw_states, probabilities, unit_values
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.style import DATA, ENERGY, EXACT, INK, SAMPLES, legend, number

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

#: Maximum number of states that are shown one by one, and of bars of shares; more shares are a map.
STATES, BARS = 32, 80
#: Lines and characters of text that fit into a panel.
LINES, WIDEST = 18, 40
#: Data points whose shares are shown.
POINTS = 10_000


def panels(view: RunView) -> list[Panel]:
    """Shares of categories, samples as text and, if there are few states, the probabilities of all."""
    found = []
    if view.names.are_letters:
        if view.data("test") is not None:
            found.append(Panel("data", "Held-out data", draw_data))
        if view.can_sample:
            found.append(Panel("samples", "Samples of the model", draw_samples))
    if not view.can_sample:
        return found
    found.append(Panel("shares", "Shares of categories", draw_shares, wide=True))
    if len(unit_values(view)) ** prod(view.event) <= STATES and view.has_energy:
        found.append(Panel("states", "Every state", draw_states, wide=True))
    return found


def draw_data(axes: Any, view: RunView) -> str:
    """Windows that were not used in training."""
    points = view.data("test")
    assert points is not None
    return _lines(axes, view, points[:: max(1, len(points) // LINES)], len(points), DATA)


def draw_samples(axes: Any, view: RunView) -> str:
    """Samples as text, a line each."""
    count = view.plan.spec.samples
    return _lines(axes, view, view.samples(min(LINES, count)), count, SAMPLES)


def _lines(axes: Any, view: RunView, x: Tensor, total: int, color: str) -> str:
    shown = [view.names.text(row)[:WIDEST] for row in x[:LINES].tolist()]
    axes.set_axis_off()
    for line, words in enumerate(shown):
        place = {"transform": axes.transAxes, "va": "center", "family": "monospace", "fontsize": 8}
        up = 1 - (line + 0.5) / LINES
        axes.text(0.0, up, f"{line + 1:2d}", color=color, **place)
        # A formula begins with a dollar.
        axes.text(0.08, up, words.replace("$", r"\$"), color=INK, **place)
    cut = f" Only the first {WIDEST} characters are shown." if view.event[0] > WIDEST else ""
    return f"{len(shown)} of {total:,}.{cut} For example: {'; '.join(map(repr, shown[:3]))}."


def draw_shares(axes: Any, view: RunView) -> str:
    """A bar per category of each unit, and a line at the exact share or that of held-out data; a map if there are
    many."""
    import torch

    categories = len(unit_values(view))
    counts, total = torch.zeros(prod(view.event), categories, dtype=torch.float64), 0
    for x in all_samples(view):
        counts, total = counts + _counts(x, categories), total + len(x)
    shares = counts / total
    reference, what = _reference(view, categories)
    (_bars if shares.numel() <= BARS else _map)(axes, view, shares, reference, what)
    words = f"Shares of {categories} categories over {total:,} samples."
    if reference is None:
        return words
    off = (shares - reference).abs()
    unit, category = divmod(int(off.argmax()), categories)
    named = f"{view.names.coordinate(unit)} = {view.names.category(unit, category)}"
    there = f"{float(shares[unit, category]):.3f}, {what} {float(reference[unit, category]):.3f}"
    return f"{words} The largest distance from the {what} is {number(float(off.max()))}, at {named}: {there}."


def _counts(x: Tensor, categories: int) -> Tensor:
    import torch

    flat = x.flatten(1).cpu()
    return torch.stack([(flat == category).double().sum(0) for category in range(categories)], 1)


def _reference(view: RunView, categories: int) -> tuple[Tensor | None, str]:
    """Shares with which those of samples are compared: exact ones, of exact draws, or of held-out data."""
    import torch

    from ebmkit.maths.enumeration import ENUMERABLE, most_units, states

    points = view.data("test")
    if points is not None:
        some = points[:: max(1, len(points) // POINTS)]
        return _counts(some, categories) / len(some), "share in the data"
    if prod(view.event) <= most_units(ENUMERABLE, unit_values(view)) and view.has_energy:
        p = probabilities(view)
        every = states(torch.arange(len(p)), view.event, unit_values(view), torch.float64).flatten(1)
        return torch.stack([p @ (every == category).double() for category in range(categories)], 1), "exact share"
    if has_exact(view):
        draws = exact_draws(view)
        return _counts(draws, categories) / len(draws), "share of exact draws"
    return None, ""


def _bars(axes: Any, view: RunView, shares: Tensor, reference: Tensor | None, what: str) -> None:
    import torch

    units, categories = shares.shape
    places = (torch.arange(units)[:, None] * (categories + 1) + torch.arange(categories)).flatten()
    axes.bar(places.numpy(), shares.flatten().numpy(), 0.8, color=SAMPLES, alpha=0.55, linewidth=0, label="samples")
    if reference is not None:
        color = DATA if view.data("test") is not None else EXACT
        axes.hlines(reference.flatten(), places - 0.45, places + 0.45, color=color, linewidth=1.4, label=what)
    names = [view.names.category(unit, category) for unit in range(units) for category in range(categories)]
    axes.set_xticks(places.tolist(), names, rotation=90 * (max(map(len, names)) > 2))
    axes.set(ylabel="share", xlim=(-1, int(places[-1]) + 1), ylim=(0, None))
    if units > 1:
        axes.set_xlabel(f"categories of {view.names.coordinate(0)}, ..., {view.names.coordinate(units - 1)}")
    legend(axes)


def _map(axes: Any, view: RunView, shares: Tensor, reference: Tensor | None, what: str) -> None:
    """Units from left to right, categories from the first one at the top; dark is frequent."""
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("share", ENERGY[::-1])
    axes.imshow(shares.T.numpy(), cmap=colors, vmin=0, aspect="auto", interpolation="none")
    categories = shares.shape[1]
    if categories <= STATES:
        axes.set_yticks(range(categories), [view.names.category(0, category) for category in range(categories)])
    axes.set(xlabel="unit", ylabel="category")
