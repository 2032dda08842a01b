"""Panels of models of images: data and samples as grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.report.panel import Panel
from ebmkit.report.style import number, spread

if TYPE_CHECKING:
    from numpy import ndarray
    from torch import Tensor

    from ebmkit.engine.view import View
    from ebmkit.kinds import Event

SIDE = 8
#: As many as say what is usual; data may lie in a file that is larger than the memory.
POINTS = 2000


def shape(event: Event) -> tuple[int, int, int] | None:
    """Channels, height and width, where an event can be seen as an image."""
    if len(event) == 2 and min(event) > 1:
        return 1, event[0], event[1]
    if len(event) == 3 and event[0] in (1, 3):
        return event[0], event[1], event[2]
    return None


def panels(view: View) -> list[Panel]:
    """Grids of what there is."""
    found = []
    if view.data("test") is not None:
        found.append(Panel("data", "Held-out data", draw_data))
    if view.can_sample:
        found.append(Panel("samples", "Samples of the model", draw_samples))
    return found


def draw_data(axes: Any, view: View) -> str:
    """Images that the model has not seen."""
    points = view.data("test")
    assert points is not None
    return _grid(axes, view, points)


def draw_samples(axes: Any, view: View) -> str:
    """Images that the model made."""
    return _grid(axes, view, view.samples(view.plan.spec.samples))


def shades(view: View, images: Tensor) -> tuple[float, float]:
    """Which values are shown black and white: the range of the data, so that samples which leave it are seen to
    saturate."""
    data = view.data("test")
    low, high = (images if data is None else data)[:POINTS].aminmax()
    return float(low), float(high)


def tiles(view: View, images: Tensor, low: float, high: float) -> ndarray:
    """The first images side by side, a pixel apart: `(height, width, 4)` bytes, with nothing in between."""
    import torch

    form = shape(view.event)
    assert form is not None
    channels, height, width = form
    columns = min(SIDE, len(images))
    rows = min(SIDE, len(images) // columns)
    values = ((images[: rows * columns].cpu().double() - low) / max(high - low, 1e-12)).clamp(0, 1)
    grid = torch.zeros(rows, columns, 4, height + 1, width + 1, dtype=torch.uint8)
    grid[:, :, :3, :-1, :-1] = (values.reshape(rows, columns, channels, height, width) * 255).round().to(torch.uint8)
    grid[:, :, 3, :-1, :-1] = 255
    picture = grid.permute(0, 3, 1, 4, 2).reshape(rows * (height + 1), columns * (width + 1), 4)
    shown: ndarray = picture[:-1, :-1].numpy()
    return shown


def _grid(axes: Any, view: View, images: Tensor) -> str:
    low, high = shades(view, images)
    axes.imshow(tiles(view, images, low, high), interpolation="none")  # the page scales the pixels themselves
    axes.set(xticks=[], yticks=[])
    some = images[:POINTS].cpu().double()
    beyond = float(((some < low) | (some > high)).double().mean())
    return (
        f"{min(len(images), SIDE * SIDE)} of {len(images):,}. Black is {number(low)}, white {number(high)}. Values of "
        f"the first {len(some):,}: mean ± standard deviation {spread(some)}"
        + (f", {beyond:.1%} of them beyond black or white." if beyond else ".")
    )
