"""Panels of models on the line: the density and the energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.panels.marginals import distance
from ebmkit.report.panels.potential import at_least_noise, has_potential
from ebmkit.report.style import DATA, INK, SAMPLES, legend, number, spread

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

POINTS = 10_000
GRID = 1001
BINS = 80


def panels(view: RunView) -> list[Panel]:
    """Density and energy, if they exist."""
    found = []
    known = view.has_energy or has_potential(view)
    if known or view.can_sample or view.data("test") is not None:
        found.append(Panel("density", "Density", draw_density))
    if known:
        found.append(Panel("energy", f"Energy{at_least_noise(view)}", draw_energy))
    return found


def draw_density(axes: Any, view: RunView) -> str:
    """Histograms of data and samples with exp(-E) / Z, where Z is by quadrature over a wider interval than shown."""
    import torch

    left, right = limits(view)
    words = []
    for name, points, color in (
        ("held-out data", view.data("test"), DATA),
        ("samples", view.samples(min(POINTS, view.plan.spec.samples)) if view.can_sample else None, SAMPLES),
    ):
        if points is not None:
            shown = points[:POINTS].flatten().cpu().double()
            bins = {"bins": BINS, "range": (left, right), "density": True, "color": color}
            axes.hist(shown, **bins, histtype="stepfilled", alpha=0.25, linewidth=0)
            axes.hist(shown, **bins, histtype="step", linewidth=1, label=name)
            words.append(f"{name}: {len(shown):,}, mean ± standard deviation {spread(shown)}.")
    if view.can_sample and has_exact(view):
        gap = distance(shown.numpy(), exact_draws(view, POINTS).flatten().double().numpy())
        words.append(f"The distribution functions of samples and exact draws differ by at most {number(gap)}.")
    if view.has_energy or has_potential(view):
        width = right - left
        x = torch.linspace(left - width, right + width, 3 * GRID, dtype=torch.float64)
        energy = view.energy(x[:, None]).cpu().double()
        log_z = float(torch.logsumexp(-energy, 0) + (x[1] - x[0]).log())
        axes.plot(x, (-energy - log_z).exp(), color=INK, linewidth=1.2, label="exp(-E) / Z")
        words.append(f"log Z = {number(log_z)} by quadrature{at_least_noise(view)}.")
    axes.set(xlabel=view.names.coordinate(0), yticks=[], xlim=(left, right), ylim=(0, None))
    legend(axes)
    return " ".join(words)


def draw_energy(axes: Any, view: RunView) -> str:
    """The energy on the same interval."""
    import torch

    left, right = limits(view)
    x = torch.linspace(left, right, GRID, dtype=torch.float64)
    energy = view.energy(x[:, None]).cpu().double()
    axes.plot(x, energy, color=INK, linewidth=1.2)
    name = view.names.coordinate(0)
    axes.set(xlabel=name, ylabel="energy", xlim=(left, right))
    return f"Lowest at {name} = {number(float(x[energy.argmin()]))}, where it is {number(float(energy.min()))}."


def limits(view: RunView) -> tuple[float, float]:
    """An interval around the data; without data, around exact draws or samples, except outliers."""
    points: Tensor | None = view.data("test")
    if points is None and has_exact(view):
        points = exact_draws(view, POINTS)
    if points is None:
        points = view.samples(min(POINTS, view.plan.spec.samples)) if view.can_sample else None
    if points is None:
        return -3, 3
    points = points[:POINTS].flatten().cpu()
    low, high = float(points.quantile(0.002)), float(points.quantile(0.998))
    margin = max(high - low, 1e-6) * 0.15
    return low - margin, high + margin
