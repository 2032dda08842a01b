"""Samples over training: one small picture for each step at which the run saved samples."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ebmkit.contracts.states import can_be_pictured, image_shape
from ebmkit.report.panels import images, line, plane
from ebmkit.report.style import FAINT, PAPER, SAMPLES, plain_matplotlib

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

#: Maximum number of pictures; more would make the page large and differ little.
MOST = 20
POINTS = 500
BINS = 40
PIXELS = 440
_STEP = re.compile(r"step-(\d+)\.safetensors")

#: `draw(axes, points, color)`.
Draw: TypeAlias = Callable[[Any, "Tensor", str], None]


class Frame(NamedTuple):
    """The samples at one step."""

    step: int
    words: str
    png: bytes


class Frames(NamedTuple):
    """Pictures in order of steps, all with the same limits."""

    frames: list[Frame]
    #: The data, shown below each picture.
    below: bytes | None
    #: Photographs do not change colours on a dark page, drawings do.
    photographs: bool


def draw_frames(view: RunView) -> Frames | None:
    """Pictures of the samples in the run folder, or None if there are fewer than two steps or they cannot be drawn."""
    if not can_be_pictured(view.event):
        return None
    moments = _moments(view.folder) if view.folder else {}
    if moments and view.can_sample and view.no_samples is None:
        moments[view.step] = None  # the final samples
    if len(moments) < 2:
        return None
    steps = sorted(moments)
    if len(steps) > MOST:
        steps = [steps[round(i * (len(steps) - 1) / (MOST - 1))] for i in range(MOST)]
    read = {step: _read(moments[step], view) for step in steps}
    few = min(map(len, read.values()))  # the same number at all steps, so that only the samples differ
    return _frames(view, {step: points[:few] for step, points in read.items()})


def draw_frame(view: RunView, x: Tensor) -> bytes | None:
    """The picture of samples of one step; None for states that have none."""
    if not can_be_pictured(view.event):
        return None
    frames = _frames(view, {view.step: x}, alone=True)
    return frames.frames[0].png if frames else None


def _frames(view: RunView, samples: dict[int, Tensor], *, alone: bool = False) -> Frames | None:
    """Pictures of the samples of each step: for the page, over one of the data, or as files that stand alone."""
    if image_shape(view.event):
        return _photographs(view, samples)
    if view.event == (2,):
        return _drawings(view, samples, _scatter(view), alone)
    if view.event == (1,):
        return _drawings(view, samples, _histogram(view, samples), alone)
    return None


def _moments(folder: Path) -> dict[int, Path | None]:
    """The files of samples by step."""
    found = {path: _STEP.fullmatch(path.name) for path in (folder / "samples").glob("step-*.safetensors")}
    return {int(match[1]): path for path, match in found.items() if match}


def _read(path: Path | None, view: RunView) -> Tensor:
    from safetensors import safe_open

    if path is None:
        return view.samples(min(POINTS, view.plan.spec.samples)).cpu()
    with safe_open(path, framework="pt") as file:
        x: Tensor = file.get_slice("x")[:POINTS]
    if x.shape[1:] != view.event:
        raise ValueError(f"{path.name} holds states of shape {tuple(x.shape[1:])}, not {view.event}")
    return x


def _photographs(view: RunView, samples: dict[int, Tensor]) -> Frames:
    from matplotlib.image import imsave

    low, high = images.shades(view, list(samples.values())[-1])
    frames = []
    for step, points in samples.items():
        written = io.BytesIO()
        imsave(written, images.tiles(view, points, low, high), format="png")
        frames.append(Frame(step, f"{min(len(points), images.SIDE**2)} of {len(points)} samples", written.getvalue()))
    return Frames(frames, below=None, photographs=True)


def _drawings(view: RunView, samples: dict[int, Tensor], draw: Draw, alone: bool) -> Frames:
    frames = []
    for step, points in samples.items():
        lost = plane.outside(points, plane.limits(view)) if view.event == (2,) else 0
        words = f"{len(points)} samples" + (f", {lost} outside" if lost else "")
        frames.append(Frame(step, words, _png(draw, points, SAMPLES, PAPER if alone else "none")))
    data = None if alone else view.data("test")
    below = None if data is None else _png(draw, data[: 2 * POINTS].cpu(), FAINT)
    return Frames(frames, below, photographs=False)


def _scatter(view: RunView) -> Draw:
    left, right, bottom, top = plane.limits(view)

    def draw(axes: Any, points: Tensor, color: str) -> None:
        axes.scatter(points[:, 0], points[:, 1], s=8, color=color, alpha=0.7, linewidths=0)
        axes.set(xlim=(left, right), ylim=(bottom, top))

    return draw


def _histogram(view: RunView, samples: dict[int, Tensor]) -> Draw:
    import numpy as np

    bins: dict[str, Any] = {"bins": BINS, "range": line.limits(view), "density": True}
    # The same height for all, so that changes are visible.
    tallest = max(float(np.histogram(points.flatten(), **bins)[0].max()) for points in samples.values())

    def draw(axes: Any, points: Tensor, color: str) -> None:
        axes.hist(points.flatten(), **bins, histtype="stepfilled", color=color, alpha=0.7)
        axes.set(xlim=bins["range"], ylim=(0, 1.1 * tallest))

    return draw


def _png(draw: Draw, points: Tensor, color: str, paper: str = "none") -> bytes:
    """Bare axes that fill a square picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = io.BytesIO()
    with plain_matplotlib():
        figure = Figure(figsize=(PIXELS / 100, PIXELS / 100), dpi=100)
        canvas = FigureCanvasAgg(figure)  # no pyplot: its figures are global
        axes = figure.add_axes((0, 0, 1, 1))
        draw(axes, points, color)
        axes.set_axis_off()
        canvas.print_figure(written, format="png", facecolor=paper)
    return written.getvalue()
