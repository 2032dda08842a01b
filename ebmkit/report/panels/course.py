"""A panel of chains over states that are drawn unit by unit: visible states along some new chains."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.contracts.states import image_shape
from ebmkit.report.panels import images
from ebmkit.report.panels.coordinates import is_discrete
from ebmkit.report.style import number, small_axes

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

#: Numbers of chains and of moments after the start; more chains give the mean distance from the start.
IMAGES, FLAT, MOMENTS, CHAINS = 6, 3, 10, 16
#: Maximum number of draws of single units in all chains: some seconds.
WORK = 1 << 27


def panels(view: RunView) -> list[Panel]:
    """States along the chain, for models whose units are drawn given others, from the top down, or by a search."""
    sampler, offers = view.plan.chain_sampler, view.plan.spec.model.traits().offers
    if not view.can_sample or sampler is None or sampler.traits().from_noise:
        return []
    if not offers & {"blocks", "ancestral"} or not (image_shape(view.event) or len(view.event) == 1):
        return []
    if view.plan.spec.chains is None and _count(view) < IMAGES:
        return []
    return [Panel("course", "Samples along the chain", draw_course, wide=True, detail=True)]


def draw_course(axes: Any, view: RunView) -> str:
    """A row of images per chain, or a picture per chain with a row per moment."""
    import torch

    moments = _course(view)
    steps = [step for step, _ in moments]
    states = torch.stack([x for _, x in moments], 1).cpu()  # (chains, moments, *event)
    low, high = images.shades(view, states[:, -1])
    labels = [f"{step:,}" for step in steps]
    if image_shape(view.event):
        shown = states[:IMAGES].flatten(0, 1)
        axes.imshow(images.tiles(view, shown, low, high, columns=len(steps)), interpolation="none")
        names = [f"chain {chain}" for chain in range(1, min(IMAGES, len(states)) + 1)]
        images.label_tiles(axes, view, labels, names)
        axes.set_xlabel("steps", labelpad=1)
    else:
        grid = small_axes(axes, 1, min(FLAT, len(states)), gap=(0.08, 0.0), room=(0.08, 0.0))
        for chain, small in enumerate(grid):
            small.imshow(
                states[chain].double().numpy(),
                aspect="auto",
                interpolation="none",
                cmap="gray",
                vmin=low,
                vmax=max(high, low + 1e-12),
            )
            small.set(xticks=[], yticks=[], xlabel=f"units, chain {chain + 1}")
            if chain == 0:
                small.set(yticks=range(len(steps)), yticklabels=labels)
    return f"After {', '.join(labels[:-1])} and {labels[-1]} steps. {_distances(view, steps, states)}"


def _count(view: RunView) -> int:
    """The number of new chains that can be afforded."""
    sampler = view.plan.chain_sampler
    assert sampler is not None
    return min(CHAINS, WORK // (sampler.steps * prod(view.event)))


def _course(view: RunView) -> list[tuple[int, Tensor]]:
    """The draws of long chains, if the run has such, else new chains from their starts."""
    import torch

    if view.draws is None:
        return view.course(_count(view), MOMENTS, view.streams.generator("report/course"))
    x = view.draws.x  # (chains, draws, *event)
    kept = torch.linspace(0, x.shape[1] - 1, min(MOMENTS, x.shape[1])).round().long().tolist()
    return [(draw, x[:, draw]) for draw in kept]


def _distances(view: RunView, steps: list[int], states: Tensor) -> str:
    """How far the chains are from where they started, in words."""
    start, last = states[:, :1].double(), states.double()
    if is_discrete(view):
        share = (last != start).flatten(2).double().mean((0, 2)).tolist()
        what, shown = "Share of units that differ from the start", [f"{value:.2f}" for value in share]
    else:
        share = (last - start).flatten(2).square().mean((0, 2)).sqrt().tolist()
        what, shown = "Distance from the start per coordinate", [number(value) for value in share]
    few = sorted({1, len(steps) // 2, len(steps) - 1} & set(range(len(steps))))
    found = ", ".join(f"{shown[moment]} after {steps[moment]:,}" for moment in few)
    of = "draws" if view.draws is not None else "steps"
    return f"{what}, a mean over {len(states)} chains: {found} {of}."
