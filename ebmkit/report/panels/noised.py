"""Panels of noise-conditional models: scores at some levels, the schedule, and the path of chains from noise to
samples."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ebmkit.components.metrics.inpainting import Inpainting
from ebmkit.contracts.panel import Panel
from ebmkit.contracts.question import Question
from ebmkit.contracts.states import image_shape
from ebmkit.maths.process import least_noise, level_of, most_noise, range_of, signal_and_noise, some_levels
from ebmkit.report.panels import images, line, plane
from ebmkit.report.panels.potential import SIGMA, at_least_noise, has_potential, named
from ebmkit.report.style import DATA, EXACT, FAINT, INK, RULE, SAMPLES, corner, legend, number, small_axes

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.kinds import Schedule
    from ebmkit.engine.run_view import RunView

#: Number of chains shown, for points and for images, and number of moments.
POINTS, IMAGES, MOMENTS = 500, 4, 6
#: Number of inpainted images.
FILLED = 8
BINS = 40
#: Colours of curves, from the highest noise to the lowest.
LEVELS = (FAINT, DATA, EXACT, SAMPLES)


def panels(view: RunView) -> list[Panel]:
    """Panels that suit the shape of a state; none for a model without a noise schedule."""
    schedule, model = view.schedule, view.plan.spec.model
    if schedule is None:
        return []
    found = []
    if view.event == (2,):
        if has_potential(view):
            found.append(Panel("energy", f"Energy{at_least_noise(view)}", plane.draw_energy))
        for position, level in enumerate(levels(schedule, 3)):
            title = f"Score at {named(schedule, level)}" + ("" if _label(view) is None else f", label {_label(view)}")
            found.append(Panel(f"score-{position}", title, partial(draw_score, level=level)))
    if view.event == (1,):
        found.append(Panel("scores", "Scores", draw_scores, wide=True))
    if view.can_sample and view.plan.chain_sampler and view.plan.chain_sampler.traits().from_noise:
        if image_shape(view.event) or len(view.event) == 1:
            found.append(Panel("way", "From noise to samples", draw_trajectory, wide=True))
        if (
            image_shape(view.event)
            and view.data("test") is not None
            and not _inpainting(view).refusal(Question(view.event, model))
        ):
            found.append(Panel("inpainting", "Half of an image filled in", draw_inpainting, wide=True, detail=True))
    return [*found, Panel("schedule", "Noise schedule", draw_schedule, wide=True, detail=True)]


def levels(schedule: Schedule, count: int) -> list[float]:
    """Some noise levels or times, from the highest noise to the lowest, in roughly equal ratios of noise / signal."""
    if schedule.conditioning == "sigma":
        return list(dict.fromkeys(some_levels(schedule, count)))
    most, least = range_of(schedule)
    between = [level_of(schedule, most * (least / most) ** (k / (count - 1))) for k in range(1, count - 1)]
    return [schedule.horizon, *between, schedule.earliest]


def draw_score(axes: Any, view: RunView, level: float) -> str:
    """The score field at this level, with data noised to this level."""
    import torch

    schedule, label = _schedule(view), _label(view)
    points = noised(view, level, label)
    square = plane.limits(view) if points is None else plane.around(points)
    if points is not None:
        shown = points[: plane.FEW].cpu()
        held_out = view.data("test") is not None
        name, color = ("noised data", DATA) if held_out else ("noised samples", SAMPLES)
        axes.scatter(shown[:, 0], shown[:, 1], s=4, color=color, alpha=0.6, linewidths=0, label=name)

    def field(x: Tensor) -> Tensor:
        return view.score(x, level, None if label is None else torch.full((len(x),), label))

    if has_potential(view):
        plane.draw_lines(axes, square, lambda x: view.energy(x, level))
    words = plane.draw_arrows(axes, square, field)
    left, right, bottom, top = square
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.set_aspect(plane.aspect(square))
    axes.locator_params(nbins=6)
    outlined = _outline(axes, view, square)
    legend(axes, markerscale=2)
    return (
        f"{_amounts(schedule, level)} Arrows: the score on a grid, {words}"
        + (" Lines: energy at +1, +2, +4, +6." if has_potential(view) else "")
        + (" The inner square is that of the other panels." if outlined else "")
    )


def draw_scores(axes: Any, view: RunView) -> str:
    """Scores on the line, times the noise: otherwise scores at low noise would dominate."""
    import torch

    schedule, label = _schedule(view), _label(view)
    left, right = line.limits(view)
    x = torch.linspace(left, right, line.GRID)
    labels = None if label is None else torch.full((len(x),), label)
    words = []
    chosen = levels(schedule, len(LEVELS))
    for color, level in zip(LEVELS[-len(chosen) :], chosen, strict=True):
        _, noise = signal_and_noise(schedule, level)
        score = view.score(x[:, None], level, labels).flatten().cpu().double()
        axes.plot(x, noise * score, color=color, linewidth=1.2, label=named(schedule, level))
        words.append(f"{number(float(score.min()))} to {number(float(score.max()))} at {named(schedule, level)}")
    axes.axhline(0, color=RULE, linewidth=0.8, zorder=0)
    axes.set(xlabel=view.names.coordinate(0), ylabel="noise times score", xlim=(left, right))
    legend(axes)
    return f"Scores from {'; '.join(words)}." + ("" if label is None else f" Given label {label}.")


def draw_schedule(axes: Any, view: RunView) -> str:
    """Noise levels in order, or signal and noise over time."""
    import torch

    schedule = _schedule(view)
    asked = view.plan.spec.model.schedule
    fitted = asked is not None and asked.needs_data
    auto = " The highest noise is the largest distance between two training points." if fitted else ""
    if schedule.conditioning == "sigma":
        sigma = schedule.levels().tolist()
        axes.plot(range(1, len(sigma) + 1), sigma, color=INK, linewidth=1.0, marker="o", markersize=2.5)
        axes.set(xlabel="level", ylabel=SIGMA, yscale="log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        if fitted:
            corner(axes, f"largest: {number(sigma[0])}, from the data", right=True)
        if len(sigma) == 1:
            return f"One level, {number(sigma[0])}."
        ratios = dict.fromkeys(number(ratio) for ratio in sorted(a / b for a, b in pairwise(sigma)))
        between = " to ".join([*ratios][:: max(1, len(ratios) - 1)])
        ends = f"from {number(sigma[0])} to {number(sigma[-1])}"
        return f"{len(sigma)} levels, {ends}. Each is {between} times the next.{auto}"
    t = torch.linspace(schedule.earliest, schedule.horizon, 401, dtype=torch.float64)
    signal, noise = schedule.at(t)
    axes.plot(t, signal, color=DATA, linewidth=1.2, label="signal")
    axes.plot(t, noise, color=INK, linewidth=1.2, label="noise")
    if float(noise.max()) > 3:
        axes.set_yscale("log")
    axes.set(xlabel="t", xlim=(0, schedule.horizon))
    legend(axes)
    words = [_amounts(schedule, level) for level in (least_noise(schedule), most_noise(schedule))]
    return f"{' '.join(words)}{auto}"


def draw_trajectory(axes: Any, view: RunView) -> str:
    """The same chains at some moments of their path."""
    schedule = _schedule(view)
    form = image_shape(view.event)
    with view.drawing_from("report/way"):
        moments = view.trajectory(IMAGES if form else POINTS, MOMENTS, view.rng)
    words = _draw_strips(axes, view, moments) if form else _draw_clouds(axes, view, moments)
    sampler = view.plan.chain_sampler
    assert sampler is not None
    count, at = len(moments[0][1]), ", ".join(named(schedule, level) for level, _ in moments)
    return f"{count} chains of {sampler.steps:,} steps, drawn for this figure: {at}.{words}"


def draw_inpainting(axes: Any, view: RunView) -> str:
    """Inpainting of held-out images, of which one half is known."""
    import torch

    data, metric = view.data("test"), _inpainting(view)
    assert data is not None
    x = data[:FILLED].to(view.parts.device)
    mask = metric.mask(view.event).to(x.device)
    labels = view.labels("test") if view.plan.spec.model.traits().labelled else None
    with view.drawing_from("report/inpainting"):
        drawn = [view.inpainted(x, mask, view.rng, None if labels is None else labels[: len(x)]) for _ in range(2)]
    low, high = images.shades(view, x)
    rows = torch.cat([x.masked_fill(~mask, torch.nan), *drawn, x])
    (small,) = small_axes(axes, 1, 1, gap=(0.0, 0.0), room=(0.13, 0.0))
    small.imshow(images.tiles(view, rows, low, high, columns=len(x)), interpolation="none")
    images.label_tiles(small, view, [""] * len(x), ["known", "drawn", "drawn", "original"])
    error = sum(float((y - x)[:, ~mask].cpu().double().square().mean()) for y in drawn) / len(drawn)
    return (
        f"The {metric.keep} half of {len(x)} held-out images is known, the other half is drawn twice. Mean squared "
        f"error of a drawn pixel: {number(error)}."
    )


def noised(view: RunView, level: float, label: int | None = None) -> Tensor | None:
    """Held-out data, or samples if there are none, with the noise of a level; of one label, if given."""
    import torch

    points = view.data("test")
    if points is not None and label is not None and (labels := view.labels("test")) is not None:
        points = points[(labels == label).to(points.device)]
    if points is None and view.can_sample:
        points = view.samples(min(plane.POINTS, view.plan.spec.samples))
    if points is None:
        return None
    signal, noise = signal_and_noise(_schedule(view), level)
    # Noise is added where the network works.
    x = view.units.into(points[: plane.POINTS].to(view.parts.device), view.dtype)
    with view.drawing_from("report/noised"):
        return view.units.out_of(torch.empty_like(x).normal_(0, noise, generator=view.rng).add_(x, alpha=signal))


def _draw_strips(axes: Any, view: RunView, moments: list[tuple[float | None, Tensor]]) -> str:
    """One row per chain, one column per moment, with a grey scale that leaves room for the noise."""
    import torch

    schedule = _schedule(view)
    low, high = images.shades(view, moments[-1][1])
    columns = []
    for level, x in moments:
        signal, noise = (1.0, 0.0) if level is None else signal_and_noise(schedule, level)
        black, white = signal * low - noise, signal * high + noise
        columns.append(((x.cpu().double() - black) / max(white - black, 1e-12)).clamp(0, 1))
    strips = torch.stack(columns, 1).flatten(0, 1)
    (small,) = small_axes(axes, 1, 1, gap=(0.0, 0.0))
    small.imshow(images.tiles(view, strips, 0.0, 1.0, columns=len(columns)), interpolation="none")
    images.label_tiles(small, view, ["clean" if level is None else f"{level:.2g}" for level, _ in moments])
    small.set_xlabel(SIGMA if schedule.conditioning == "sigma" else "t", labelpad=1)
    return " The grey scale is that of the data, extended by one standard deviation of the noise."


def _draw_clouds(axes: Any, view: RunView, moments: list[tuple[float | None, Tensor]]) -> str:
    """Points, each moment with its own limits, since noise may be much wider than data."""
    schedule, outlined = _schedule(view), False
    frames = small_axes(axes, 2, -(-len(moments) // 2), gap=(0.06, 0.1), count=len(moments))
    for small, (level, x) in zip(frames, moments, strict=True):
        x = x.cpu()
        small.set(xticks=[], yticks=[])
        if view.event == (1,):
            small.hist(x.flatten(), bins=BINS, histtype="stepfilled", color=SAMPLES, alpha=0.7)
            small.margins(y=0.3)
        else:
            square = left, right, bottom, top = plane.around(x)
            small.scatter(x[:, 0], x[:, 1], s=1.5, color=SAMPLES, alpha=0.6, linewidths=0)
            small.set(xlim=(left, right), ylim=(bottom, top))
            if view.event == (2,):
                small.set_aspect(plane.aspect(square))
            outlined |= _outline(small, view, square)
        corner(small, named(schedule, level))
    return " The inner rectangle is that of the other panels." if outlined else ""


def _outline(axes: Any, view: RunView, square: plane.Square) -> bool:
    """Draw the limits of the other panels, if these axes show more."""
    left, right, bottom, top = plane.limits(view)
    if right - left > 0.8 * (square[1] - square[0]) and top - bottom > 0.8 * (square[3] - square[2]):
        return False
    axes.plot([left, right, right, left, left], [bottom, bottom, top, top, bottom], color=FAINT, linewidth=0.8)
    return True


def _amounts(schedule: Schedule, level: float) -> str:
    """Signal and noise as text."""
    signal, noise = signal_and_noise(schedule, level)
    if schedule.conditioning == "sigma":
        return f"Noise of {number(noise)}."
    return f"Signal {number(signal)} and noise {number(noise)} at {named(schedule, level)}."


def _label(view: RunView) -> int | None:
    """A label that occurs in the held-out data, for a model that takes labels."""
    labels = view.labels("test")
    return int(labels.min()) if view.plan.spec.model.traits().labelled and labels is not None else None


def _inpainting(view: RunView) -> Inpainting:
    """The metric of the spec, or the default one."""
    return next((metric for metric in view.plan.spec.evaluate if isinstance(metric, Inpainting)), Inpainting())


def _schedule(view: RunView) -> Schedule:
    assert view.schedule is not None
    return view.schedule
