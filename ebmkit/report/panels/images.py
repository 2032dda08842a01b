"""Panels of models of images: data and samples as grids."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ebmkit.components.metrics.neighbours import neighbours
from ebmkit.contracts.panel import Panel
from ebmkit.contracts.states import image_shape
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.panels.states import state_panels
from ebmkit.report.style import number, palette, small_axes, spread

if TYPE_CHECKING:
    from numpy import ndarray
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

SIDE = 8
#: Number of points for statistics; the data file may be larger than the memory.
POINTS = 2000
#: Maximum number of coordinate comparisons between images: a few seconds.
WORK = 1 << 33


def panels(view: RunView) -> list[Panel]:
    """Grids of data, exact draws and samples, if they exist."""
    found = state_panels(view, draw_data, draw_exact, draw_samples)
    if view.can_sample and not view.plan.spec.model.traits().categories:  # these compare values of pixels as numbers
        if not view.plan.spec.stages:
            found.append(Panel("moments", "Mean and spread of every pixel", draw_moments, wide=True))
        if view.data("train") is not None:
            found.append(Panel("neighbours", "Samples and nearest training images", draw_neighbours, wide=True))
    return found


def draw_data(axes: Any, view: RunView) -> str:
    """Images that were not used in training."""
    points = view.data("test")
    assert points is not None
    return _grid(axes, view, points)


def draw_exact(axes: Any, view: RunView) -> str:
    """Exact draws, the target of the chains."""
    return _grid(axes, view, exact_draws(view, POINTS))


def draw_samples(axes: Any, view: RunView) -> str:
    """Samples of the model; for long chains, from all parts of the chains."""
    count = view.plan.spec.samples
    some = view.samples(min(POINTS, count))
    return _grid(axes, view, some, view.samples(min(SIDE * SIDE, count)), count)


def draw_moments(axes: Any, view: RunView) -> str:
    """Moments over samples and, below, over exact draws if there are any."""
    groups = {"samples": view.samples(min(POINTS, view.plan.spec.samples)).cpu().double()}
    if has_exact(view):
        groups["exact draws"] = exact_draws(view, POINTS).double()
    moments = {(what, name): getattr(x, what)(0) for name, x in groups.items() for what in ("mean", "std")}
    for small, ((what, name), picture) in zip(
        small_axes(axes, len(groups), 2, gap=(0.05, 0.25)), moments.items(), strict=True
    ):
        # Not from the minimum to the maximum, which would stretch random variation to black and white.
        low, high = shades(view, groups["samples"])
        if what == "std":
            low, high = 0.0, (high - low) / 2
        small.imshow(tiles(view, picture[None], low, high), interpolation="none")
        small.set(xticks=[], yticks=[], xlabel=f"{what}, {name}")
    ranges = [
        f"{what} of {name} {number(float(x.min()))} to {number(float(x.max()))}" for (what, name), x in moments.items()
    ]
    return f"Ranges: {'; '.join(ranges)}. Means have the grey scale of images, deviations one from 0 to half its range."


def draw_neighbours(axes: Any, view: RunView) -> str:
    """Pairs of a sample and its nearest training image: for the first samples, and for those with the smallest
    distances, so that copies are found."""
    import torch

    train, test = view.data("train"), view.data("test")
    assert train is not None
    affordable = max(2 * SIDE, WORK // (len(train) * prod(view.event)))
    samples = view.samples(min(POINTS, view.plan.spec.samples))[:affordable]
    found = neighbours(samples, train)
    low, high = shades(view, samples)
    order = found.distance.argsort(stable=True)
    bands = {"the first samples": torch.arange(len(samples), device=order.device)[:SIDE], "the nearest": order[:SIDE]}
    for small, (name, chosen) in zip(
        small_axes(axes, 2, 1, gap=(0.0, 0.45), room=(0.13, 0.0)), bands.items(), strict=True
    ):
        pairs = torch.cat([samples[chosen], train[found.nearest[chosen].to(train.device)].to(samples)])
        small.imshow(tiles(view, pairs, low, high, columns=len(pairs) // 2), interpolation="none")
        apart = [f"{distance:.2g}" for distance in found.distance[chosen].tolist()]
        label_tiles(small, view, apart, ["sample", "training"])
        small.set_xlabel(f"distances of {name}", labelpad=1)
    median = number(float(found.distance.cpu().double().quantile(0.5)))
    if test is None:
        return f"The median distance of {len(samples):,} samples is {median}."
    floor = number(float(neighbours(test[: len(samples)].to(samples), train).distance.cpu().double().quantile(0.5)))
    return (
        f"Euclidean distances to the nearest training image: median {median} for {len(samples):,} samples, {floor} for "
        f"held-out images. Copies would be much closer."
    )


def label_tiles(axes: Any, view: RunView, columns: Sequence[str], rows: Sequence[str] = ()) -> None:
    """Labels below the columns of tiles, and next to their rows."""
    form = image_shape(view.event)
    assert form is not None
    _, height, width = form
    across = [(width + 1) * (k + 0.5) - 1 for k in range(len(columns))]
    up = [(height + 1) * (k + 0.5) - 1 for k in range(len(rows))]
    axes.set(xticks=across, xticklabels=columns, yticks=up, yticklabels=rows)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)


def shades(view: RunView, images: Tensor) -> tuple[float, float]:
    """The values shown as black and white: the range of the data, so that samples outside it saturate visibly; without
    data, that of exact draws."""
    data = view.data("test")
    if data is None:
        data = exact_draws(view, POINTS) if has_exact(view) else images
    low, high = data[:POINTS].aminmax()
    return float(low), float(high)


def tiles(view: RunView, images: Tensor, low: float, high: float, columns: int = SIDE) -> ndarray:
    """A grid of the first images, one pixel apart: `(height, width, 4)` bytes, transparent between images and where a
    pixel is not a number."""
    import torch

    form = image_shape(view.event)
    assert form is not None
    channels, height, width = form
    columns = min(columns, len(images))
    rows = min(SIDE, len(images) // columns)
    first = images[: rows * columns].cpu().double()
    categories = view.plan.spec.model.traits().categories
    if categories and channels == 1:
        values = _coloured(first, categories)
    else:
        values = ((first - low) / max(high - low, 1e-12)).clamp(0, 1)
    values = values.reshape(rows, columns, -1, height, width)
    grid = torch.zeros(rows, columns, 4, height + 1, width + 1, dtype=torch.uint8)
    grid[:, :, :3, :-1, :-1] = (values.nan_to_num() * 255).round().to(torch.uint8)
    grid[:, :, 3, :-1, :-1] = 255 * values.isfinite().all(2)
    picture = grid.permute(0, 3, 1, 4, 2).reshape(rows * (height + 1), columns * (width + 1), 4)
    shown: ndarray = picture[:-1, :-1].numpy()
    return shown


def _coloured(images: Tensor, categories: int) -> Tensor:
    """The colours of categories `(n, 3, H W)`, NaN where there is no category."""
    import torch

    flat = images.flatten(1)
    known = (flat >= 0) & (flat < categories)
    table = torch.tensor(palette(categories), dtype=torch.float64)
    colours = table[torch.where(known, flat, 0.0).long()].permute(0, 2, 1)
    return torch.where(known.unsqueeze(1), colours, torch.nan)


def _grid(axes: Any, view: RunView, images: Tensor, shown: Tensor | None = None, total: int | None = None) -> str:
    """A grid of the first images, or of those given as `shown`; there are `total`, of which `images` may be some."""
    total = len(images) if total is None else total
    low, high = shades(view, images)
    # The page scales the pixels themselves.
    axes.imshow(tiles(view, images if shown is None else shown, low, high), interpolation="none")
    axes.set(xticks=[], yticks=[])
    if categories := view.plan.spec.model.traits().categories:
        return f"{min(total, SIDE * SIDE)} of {total:,}. A colour is one of {categories} categories."
    some = images[:POINTS].cpu().double()
    # Dequantized data lie strictly inside the range to which samples are clamped; the picture has 256 shades.
    shade = (high - low) / 255
    beyond = float(((some < low - shade) | (some > high + shade)).double().mean())
    return (
        f"{min(total, SIDE * SIDE)} of {total:,}. Black is {number(low)}, white {number(high)}. Values of "
        f"the first {len(some):,}: mean ± standard deviation {spread(some)}"
        + (f", {beyond:.1%} of them beyond black or white." if beyond else ".")
    )
