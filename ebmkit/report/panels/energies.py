"""The panel of energies: those of data, samples and initial states of chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.style import DATA, EXACT, FAINT, SAMPLES, legend, spread, tidy

if TYPE_CHECKING:
    from numpy import ndarray
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

#: Points per group: enough for a smooth histogram, and fast even for a deep network.
POINTS = 2000
BINS = 80
LOOKS = {
    "training data": (DATA, ":"),
    "held-out data": (DATA, "-"),
    "exact draws": (EXACT, "-"),
    "samples": (SAMPLES, "-"),
    "chain starts": (FAINT, "-"),
}


def panels(view: RunView) -> list[Panel]:
    """One panel, if the model has an energy and there are data or samples."""
    if view.has_energy and (view.can_sample or view.data("test") is not None):
        return [Panel("energies", "Energies", draw_energies, wide=True)]
    return []


def draw_energies(axes: Any, view: RunView) -> str:
    """One histogram per group. If the energies of noise are so high that they would leave no room for the rest, the
    axes show the rest and an inset shows everything."""
    import numpy as np

    groups = {name: view.energy(x).cpu().double().numpy() for name, x in _groups(view)}
    finite = {name: values[np.isfinite(values)] for name, values in groups.items()}
    shown = {name: values for name, values in finite.items() if len(values)}
    near = np.concatenate([values for name, values in shown.items() if name != "chain starts"])
    everything = np.concatenate([*shown.values()])
    low = float(everything.min())
    high = min(low + 2 * (float(np.quantile(near, 0.99)) - low), float(everything.max()))
    _histograms(axes, shown, low, high)
    axes.set(xlabel="energy", yticks=[])
    legend(axes)
    beyond = {name: float((values > high).mean()) for name, values in shown.items()}
    if beyond.get("chain starts", 0) > 0.1:
        _in_the_corner(axes, shown, low, float(np.quantile(shown["chain starts"], 0.99)))
    means = [f"{name} {spread(values)}" for name, values in shown.items()]
    outside = [f"{share:.1%} of {name}" for name, share in beyond.items() if share]
    lost = [
        f"{len(groups[name]) - len(finite[name])} of {name}" for name in groups if len(finite[name]) < len(groups[name])
    ]
    return (
        f"Mean ± standard deviation: {', '.join(means)}."
        + (f" Beyond the right edge: {', '.join(outside)}." if outside else "")
        + (f" Not finite: {', '.join(lost)}." if lost else "")
    )


def _in_the_corner(axes: Any, groups: dict[str, ndarray], low: float, high: float) -> None:
    """An inset with everything, scaled to the noise; the narrow peaks of the rest are cut off at the top."""
    corner = axes.inset_axes((0.6, 0.45, 0.385, 0.43))
    tallest = _histograms(corner, groups, low, high)["chain starts"]
    tidy(corner)
    corner.set(yticks=[], facecolor="none", ylim=(0, 1.5 * tallest))
    corner.locator_params(axis="x", nbins=4)
    corner.tick_params(labelsize=7)


def _groups(view: RunView) -> Iterator[tuple[str, Tensor]]:
    """The groups of the other panels, and the initial states of chains as noise."""
    train = view.data("train") if view.plan.spec.stages else None
    for name, points in (("training data", train), ("held-out data", view.data("test"))):
        if points is not None:
            yield name, points[:POINTS]
    if has_exact(view):
        yield "exact draws", exact_draws(view, POINTS)
    if view.can_sample:
        yield "samples", view.samples(min(POINTS, view.plan.spec.samples))
        yield "chain starts", view.starts(POINTS)


def _histograms(axes: Any, groups: dict[str, ndarray], low: float, high: float) -> dict[str, float]:
    """Histograms on one range, each normalised to area one over all its values. Returns their heights."""
    import numpy as np

    tallest = {}
    width = max(high - low, 1e-6)
    for name, values in groups.items():
        color, line = LOOKS[name]
        # Not `density`: that would normalise the visible part to area one.
        weights = np.full(len(values), BINS / width / len(values))
        bins = {"bins": BINS, "range": (low, low + width), "weights": weights, "color": color}
        if name != "training data":  # a second area over that of the held-out data would hide it
            axes.hist(values, **bins, histtype="stepfilled", alpha=0.22, linewidth=0)
        heights, _, _ = axes.hist(values, **bins, histtype="step", linewidth=1, linestyle=line, label=name)
        tallest[name] = float(heights.max())
    axes.set_xlim(low, low + width)
    return tallest
