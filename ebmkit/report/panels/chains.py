"""Panels of the chains that made the samples: statistics of their steps, averaged over chains."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ebmkit.contracts.panel import Panel
from ebmkit.report.style import SAMPLES, number

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView


class Trace(NamedTuple):
    """Title, axis label and caption of a trace."""

    title: str
    axis: str
    words: str


TRACES = {
    "gradient_norm": Trace(
        "v, the norm of dE/dx, along the chains",
        "v",
        "v, the norm of the energy's gradient in x (Langevin steps are proportional to it), averaged over the chains",
    ),
    "energy": Trace("Energy along the chains", "energy", "Mean energy"),
    "acceptance": Trace("Acceptance along the chains", "accepted", "Probability of accepting a proposal"),
    "divergence": Trace("Divergences along the chains", "diverged", "Share of divergent proposals"),
}


def panels(view: RunView) -> list[Panel]:
    """One panel for each trace that the sampler reports. For long chains see `traces.py`."""
    if view.draws is not None:
        return []
    return [
        Panel(f"chains-{name}", trace.title, partial(draw_trace, name=name), wide=True, detail=True)
        for name, trace in TRACES.items()
        if name in view.traces and (name != "divergence" or bool(view.traces[name].any()))
    ]


def draw_trace(axes: Any, view: RunView, name: str) -> str:
    """One value per step of the chains."""
    values = view.traces[name].cpu().double()
    axes.plot(range(1, len(values) + 1), values, color=SAMPLES, linewidth=1.1)
    axes.set(xlabel="step of the chain", ylabel=TRACES[name].axis, xlim=(0, len(values)))
    if name == "acceptance":
        axes.set_ylim(-0.02, 1.02)
    first, last, mean = (number(float(value)) for value in (values[0], values[-1], values.mean()))
    return (
        f"{TRACES[name].words}: {first} at the first of {len(values):,} steps, {last} at the last, {mean} on average."
    )
