"""Panels of models that are made from states: stored patterns that are recalled, and images that are restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ebmkit.contracts.panel import Panel
from ebmkit.contracts.states import image_shape
from ebmkit.report.panels import images
from ebmkit.report.style import INK, RULE, SAMPLES, number, small_axes

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import Patterns, TrueImage
    from ebmkit.engine.run_view import RunView

#: Numbers of recalled images, of recalled flat states, and of chains.
SHOWN, FLAT, CHAINS = 8, 4, 256


def panels(view: RunView) -> list[Panel]:
    """Recall of the patterns of a memory, or restoration of an image whose true version is known."""
    offers = view.plan.spec.model.traits().offers
    if "patterns" not in offers or not view.can_sample or view.plan.spec.chains is not None:
        return []
    if "true_image" in offers:
        return [Panel("restoration", "Restoration", draw_restoration, wide=True)] if image_shape(view.event) else []
    if image_shape(view.event) or len(view.event) == 1:
        return [Panel("recall", "Recall of stored patterns", draw_recall, wide=True)]
    return []


def draw_recall(axes: Any, view: RunView) -> str:
    """The pattern that is nearest to the start of a chain, the start, and the end, with their overlaps."""
    import torch

    patterns = cast("Patterns", view.module).patterns.cpu().double()
    moments = view.course(min(CHAINS, max(SHOWN, len(patterns))), 1, view.streams.generator("report/recall"))
    start, end = (x.cpu().double() for x in (moments[0][1], moments[-1][1]))
    nearest = nearest_pattern(start, patterns)
    before, after = overlap(start, patterns[nearest]), overlap(end, patterns[nearest])
    count = min(SHOWN, len(start))
    rows = torch.stack([patterns[nearest], start, end])[:, :count]  # (3, chains, *event)
    low, high = float(patterns.min()), float(patterns.max())
    if image_shape(view.event):
        axes.imshow(images.tiles(view, rows.flatten(0, 1), low, high, columns=count), interpolation="none")
        images.label_tiles(
            axes, view, [f"{value:.2f}" for value in after[:count].tolist()], ["pattern", "start", "end"]
        )
    else:
        _draw_rows(axes, rows[:, :FLAT].flatten(2), after.tolist())
    marked = "" if image_shape(view.event) else " Units that differ from the pattern are orange."
    return (
        f"Pattern, start and end of some chains, with the overlap of end and pattern, which is the one nearest to the "
        f"start.{marked} Over {len(start)} chains the overlap is {number(float(before.mean()))} at the start and "
        f"{number(float(after.mean()))} at the end; {float((after == 1).double().mean()):.0%} end at the pattern."
    )


def draw_restoration(axes: Any, view: RunView) -> str:
    """The true image, the observed one, and samples."""
    import torch

    model = cast("Any", view.module)
    truth = cast("TrueImage", model).true_image.cpu().double().unsqueeze(0)
    seen = cast("Patterns", model).patterns.cpu().double()[:1]
    restored = view.samples(min(CHAINS, view.plan.spec.samples)).cpu().double()
    shown = torch.cat([truth, seen, restored[:2]])
    low, high = float(truth.min()), float(truth.max())
    low, high = (min(low, float(seen.min())), max(high, float(seen.max())))
    axes.imshow(images.tiles(view, shown, low, high, columns=len(shown)), interpolation="none")
    images.label_tiles(axes, view, ["true", "observed", *["restored"] * (len(shown) - 2)])
    wrong = float((restored != truth).double().mean())
    return (
        f"Wrong pixels: {float((seen != truth).double().mean()):.2%} of the observed image, {wrong:.2%} of "
        f"{len(restored)} restored ones."
    )


def overlap(x: Tensor, patterns: Tensor) -> Tensor:
    """1 minus twice the share of units that differ, row by row."""
    return 1 - 2 * (x != patterns).flatten(1).double().mean(1)


def nearest_pattern(x: Tensor, patterns: Tensor) -> Tensor:
    """The number of the pattern with the fewest differing units, `(B,)`; the first of several."""
    import torch

    rows = [(row != patterns).flatten(1).double().mean(1).argmin() for row in x]
    return torch.stack(rows)


def _draw_rows(axes: Any, rows: Tensor, overlaps: list[float]) -> None:
    """Flat states `(3, chains, d)`: pattern, start and end of each chain, with units that differ from the pattern in
    another colour."""
    from matplotlib.colors import ListedColormap

    pattern = rows[0]
    high = rows == rows.max()
    shown = high.long() + 2 * (rows != pattern)
    colors = ListedColormap([INK, RULE, SAMPLES, SAMPLES])
    grid = small_axes(axes, rows.shape[1], 1, gap=(0.0, 0.35), room=(0.12, 0.12))
    for chain, small in enumerate(grid):
        small.imshow(shown[:, chain].numpy(), aspect="auto", interpolation="none", cmap=colors, vmin=0, vmax=3)
        small.set(xticks=[], yticks=range(3), yticklabels=["pattern", "start", "end"])
        small.tick_params(length=0, pad=2)
        small.text(1.02, 0.5, f"{overlaps[chain]:.2f}", transform=small.transAxes, va="center", fontsize=7.5, color=INK)
    grid[-1].set_xlabel("units")
