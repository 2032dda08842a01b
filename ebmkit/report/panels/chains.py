"""Panels of the chains that made the samples: what their steps saw, averaged over the chains."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ebmkit.contracts.panel import Panel
from ebmkit.report.style import SAMPLES, number

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView


class Trace(NamedTuple):
    """How one of the traces is shown."""

    title: str
    axis: str
    words: str


TRACES = {
    "gradient_norm": Trace("v along the chains", "v", "v, the norm of dE/dx averaged over the chains"),
    "energy": Trace("Energy along the chains", "energy", "Mean energy"),
    "acceptance": Trace("Acceptance along the chains", "accepted", "Probability of accepting a proposal"),
    "divergence": Trace("Divergences along the chains", "diverged", "Share of proposals with energies out of bounds"),
}


def panels(view: RunView) -> list[Panel]:
    """One for each trace that the sampler leaves. Of long chains more is known (see `traces.py`)."""
    if view.draws is not None:
        return []
    return [
        Panel(f"chains-{name}", trace.title, partial(draw_trace, name=name), wide=True, detail=True)
        for name, trace in TRACES.items()
        if name in view.traces and (name != "divergence" or bool(view.traces[name].any()))
    ]


def draw_trace(axes: Any, view: RunView, name: str) -> str:
    """One number a step of the chains."""
    values = view.traces[name].cpu().double()
    axes.plot(range(1, len(values) + 1), values, color=SAMPLES, linewidth=1.1)
    axes.set(xlabel="step of the chain", ylabel=TRACES[name].axis, xlim=(0, len(values)))
    if name == "acceptance":
        axes.set_ylim(-0.02, 1.02)
    first, last, mean = (number(float(value)) for value in (values[0], values[-1], values.mean()))
    return (
        f"{TRACES[name].words}: {first} at the first of {len(values):,} steps, {last} at the last, {mean} on average."
    )
