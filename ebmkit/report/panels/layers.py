"""Panels of models with layers of hidden units: receptive fields, activations, reconstructions."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from math import ceil, nan, prod
from typing import TYPE_CHECKING, Any, cast

from ebmkit.contracts.panel import Panel
from ebmkit.contracts.states import image_shape
from ebmkit.maths.enumeration import VALUES
from ebmkit.report.panels import images
from ebmkit.report.style import DATA, EXACT, RULE, SAMPLES, legend, number, small_axes

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import Activations, ReceptiveFields, Reconstructs
    from ebmkit.engine.run_view import RunView

#: Number of fields of flat states, of reconstructed points, and of reconstructed images in rows and columns.
FEW, POINTS, ROWS, COLUMNS = 12, 6, 3, 12
#: Points for activations.
MANY = 2000
#: The share of all numbers in fields that is shown without saturation.
SHOWN = 0.995
#: A unit is dead if it is on for fewer than this share of the points, saturated if off for fewer; it does not respond
#: if the deviation over the points is smaller.
RARE, FLAT = 0.01, 0.01
BINS = 40


def panels(view: RunView) -> list[Panel]:
    """One panel of fields per layer, and activations and reconstructions of data."""
    offers = view.plan.spec.model.traits().offers
    found = []
    if "receptive_fields" in offers:
        count = len(_fields(view))
        for layer in range(count):
            title = "Receptive fields" + (f" of layer {layer + 1}" if count > 1 else "")
            found.append(Panel(f"fields-{layer + 1}", title, partial(draw_fields, layer=layer), detail=layer > 0))
    if view.data("train") is None:
        return found
    if "activations" in offers:
        found.append(Panel("activations", "Hidden units: mean activations", draw_activations, wide=True, detail=True))
    if "reconstruct" in offers:
        found.append(Panel("reconstructions", "Reconstructions through hidden units", draw_reconstructions, wide=True))
    return found


def draw_fields(axes: Any, view: RunView, layer: int) -> str:
    """Weights of each unit onto a state: as images, on a common scale from negative (black) to positive (white), or as
    bars."""
    import torch

    fields = _fields(view)[layer].cpu().double()
    sizes = fields.flatten(1).norm(dim=1)
    most = images.SIDE**2 if image_shape(view.event) else FEW
    chosen = sizes.argsort(descending=True, stable=True)[:most].sort().values
    limit = max(
        float(fields.abs().flatten().quantile(SHOWN)) if fields.numel() < 1 << 24 else float(sizes.max()), 1e-12
    )
    if image_shape(view.event):
        columns = min(images.SIDE, ceil(len(chosen) ** 0.5))
        empty = fields.new_full((-len(chosen) % columns, *view.event), nan)  # so that the last row is full
        shown = torch.cat([fields[chosen], empty])
        axes.imshow(images.tiles(view, shown, -limit, limit, columns=columns), interpolation="none")
        axes.set(xticks=[], yticks=[])
    else:
        _draw_bars(axes, fields[chosen].flatten(1), [f"unit {unit + 1}" for unit in chosen.tolist()])
    some = f"The {len(chosen)} largest of {len(fields):,}" if len(chosen) < len(fields) else f"All {len(fields)}"
    scale = f" Black is {number(-limit)}, white {number(limit)}." if image_shape(view.event) else ""
    projected = ", projected down through the layers below" if layer else ""
    return (
        f"{some} units: their weights onto a state{projected}.{scale} "
        f"Norms of fields: {number(float(sizes.min()))} to {number(float(sizes.max()))}."
    )


def draw_activations(axes: Any, view: RunView) -> str:
    """A histogram of the mean activations of the units of each layer."""
    import torch

    points, which = _points(view)
    with torch.no_grad():
        layers = cast("Activations", view.scaled.module).activations(points[:MANY])
    colors = cycle((DATA, SAMPLES, EXACT))
    edges = torch.linspace(0, 1, BINS + 1).tolist()
    words = []
    for position, (p, color) in enumerate(zip(layers, colors, strict=False), 1):
        name = f"layer {position}" if len(layers) > 1 else "hidden units"
        means = p.cpu().double().mean(0)
        axes.hist(means.numpy(), bins=edges, histtype="stepfilled", color=color, alpha=0.6, label=name)
        words.append(_health(name, p.cpu().double()))
    axes.set(xlabel=f"share of {which} for which a unit is on", ylabel="units", xlim=(0, 1))
    axes.yaxis.get_major_locator().set_params(integer=True)
    if len(layers) > 1:
        legend(axes)
    return f"Means over {min(len(points), MANY):,} points. {' '.join(words)}"


def _health(name: str, p: Tensor) -> str:
    """How many units of a layer are of no use, as a sentence; `p` has a row per point."""
    mean, deviation = p.mean(0), p.std(0) if len(p) > 1 else 0 * p[0]
    dead, saturated = mean < RARE, mean > 1 - RARE
    flat = (deviation < FLAT) & ~dead & ~saturated
    return (
        f"Of {len(mean):,} {'units of ' if name.startswith('layer') else ''}{name}, {int(dead.sum())} are dead (on for "
        f"less than {RARE:.0%} of the points), {int(saturated.sum())} saturated (on for more than {1 - RARE:.0%}) and "
        f"{int(flat.sum())} others respond alike to all points; the mean activation is {float(mean.mean()):.2f}."
    )


def draw_reconstructions(axes: Any, view: RunView) -> str:
    """Data, and below them their means given the means of the hidden units; bars and lines, if they are no images."""
    points, which = _points(view)
    means = reconstructed(view, points[:MANY])
    data, back = (view.units.out_of(x).cpu().double() for x in (points[:MANY], means))
    if image_shape(view.event):
        import torch

        columns = min(COLUMNS, len(data))
        rows = min(ROWS, len(data) // columns)
        pairs = torch.stack([x[: rows * columns].view(rows, columns, *view.event) for x in (data, back)], 1)
        tiles = images.tiles(view, pairs.flatten(0, 2), *images.shades(view, data), columns=columns)
        axes.imshow(tiles, interpolation="none")
        images.label_tiles(axes, view, [""] * columns, ["data", "back"] * rows)
    else:
        names = [f"point {position}" for position in range(1, min(POINTS, len(data)) + 1)]
        _draw_bars(axes, data[:POINTS].flatten(1), names, back[:POINTS].flatten(1))
    train = view.data("train")
    assert train is not None
    centre = train[:MANY].cpu().double().mean(0)
    errors = [number(float((data - other).square().mean())) for other in (back, centre)]
    return (
        f"{which.capitalize()} and their means given the means of all hidden units. Mean squared difference per "
        f"coordinate: {errors[0]} over {len(data):,} points; of the mean of the training data {errors[1]}."
    )


def reconstructed(view: RunView, x: Tensor) -> Tensor:
    """Means of states given the means of hidden units, in the space of the network."""
    import torch

    with torch.no_grad():
        parameters = cast("Reconstructs", view.scaled.module).reconstruct(x)
    space = view.plan.spec.model.traits().space
    if space not in VALUES:
        return parameters
    low, high = VALUES[space]
    return low + (high - low) * torch.sigmoid(parameters)


def _fields(view: RunView) -> list[Tensor]:
    import torch

    with torch.no_grad():
        return cast("ReceptiveFields", view.scaled.module).receptive_fields()


def _points(view: RunView) -> tuple[Tensor, str]:
    """Points in the space of the network, held-out ones if there are any, and what they are."""
    scaled = view.scaled
    test, train = scaled.data("test"), scaled.data("train")
    points, which = (train, "training points") if test is None or not len(test) else (test, "held-out points")
    assert points is not None
    return points[:MANY].to(view.device), which


def _draw_bars(axes: Any, rows: Tensor, names: list[str], lines: Tensor | None = None) -> None:
    """Small axes with a bar per coordinate, all on one scale; `lines` are drawn over the bars."""
    import torch

    columns = min(3, len(rows))
    both = rows if lines is None else torch.cat([rows, lines])
    low, high = min(0.0, float(both.min())), max(0.0, float(both.max()))
    margin = 0.05 * max(high - low, 1e-12)
    grid = small_axes(axes, ceil(len(rows) / columns), columns, gap=(0.08, 0.45), room=(0.08, 0.0), count=len(rows))
    for position, (small, name) in enumerate(zip(grid, names, strict=True)):
        small.stairs(rows[position].numpy(), fill=True, color=DATA, alpha=0.6)
        if lines is not None:
            small.stairs(lines[position].numpy(), color=SAMPLES, linewidth=1.2, baseline=None)
        small.axhline(0, color=RULE, linewidth=0.8, zorder=0)
        small.set(xlim=(0, prod(rows.shape[1:])), ylim=(low - margin, high + margin), xticks=[], xlabel=name)
        if position % columns:
            small.set(yticklabels=[])
