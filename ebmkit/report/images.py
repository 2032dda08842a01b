"""Panels of models of images: data and samples as grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.report.panel import Panel

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.view import View
    from ebmkit.kinds import Event

SIDE = 8


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


def draw_data(axes: Any, view: View) -> None:
    """Images that the model has not seen."""
    points = view.data("test")
    assert points is not None
    _grid(axes, view, points)


def draw_samples(axes: Any, view: View) -> None:
    """Images that the model made."""
    _grid(axes, view, view.samples(view.plan.spec.samples))


def _grid(axes: Any, view: View, images: Tensor) -> None:
    form = shape(view.event)
    assert form is not None
    channels, height, width = form
    columns = min(SIDE, len(images))
    rows = min(SIDE, len(images) // columns)
    # Both grids are shown on the range of the data, so that samples which leave it are seen to saturate.
    data = view.data("test")
    low, high = (float(bound) for bound in (images if data is None else data).aminmax())
    shown = ((images[: rows * columns].cpu() - low) / max(high - low, 1e-12)).clamp(0, 1)
    tiles = shown.reshape(rows, columns, channels, height, width).permute(0, 3, 1, 4, 2)
    picture = tiles.reshape(rows * height, columns * width, channels).numpy()
    axes.imshow(picture[..., 0] if channels == 1 else picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
