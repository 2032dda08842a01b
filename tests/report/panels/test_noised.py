"""What the panels of models under noise draw, against Gaussians of which everything is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

from ebmkit import load_spec
from ebmkit.chains.chain import run_chain
from ebmkit.components.samplers.reverse_time import times
from ebmkit.engine.sampling import view_of
from ebmkit.report.panels import images, line, noised, plane
from ebmkit.report.panels.offered import offered_panels
from ebmkit.report.svg import draw_svg
from tests.report.views import view_by_hand

VP = {"use": "vp"}
SIGMAS = {"use": "geometric", "sigma_max": 5.0, "sigma_min": 0.05, "count": 9}
MEAN, VARIANCE = 0.7, 0.3
#: A chain of two steps.
FEW = {
    "ebmkit": 1,
    "model": {"use": "noised_mixture", "schedule": VP},
    "sampler": {"use": "reverse_sde", "schedule": VP, "steps": 2},
}


@pytest.fixture
def axes():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def plain(words):
    return words.replace("\N{NO-BREAK SPACE}", " ")


def sampler_on(schedule):
    if schedule["use"] == "vp":
        return {"use": "reverse_sde", "schedule": schedule, "steps": 20}
    return {"use": "annealed_langevin", "schedule": schedule, "steps_per_level": 4}


def view_on(schedule, event=(2,), model=None, data=None):
    """A Gaussian under noise, or another model, with data of the same law unless there are others."""
    d = math.prod(event)
    law = {"use": "gaussian", "mean": [MEAN] * d, "covariance": VARIANCE, "shape": list(event)}
    exact = {"use": "noised_mixture", "means": [[MEAN] * d], "covariances": [VARIANCE], "shape": list(event)}
    spec = {
        "ebmkit": 1,
        "data": data or {"use": "from_model", "model": law, "size": 300, "test_size": 4000},
        "model": {**(model or exact), "schedule": schedule},
        "sampler": sampler_on(schedule),
        "samples": 200,
    }
    return view_of(load_spec(spec), None)


def amounts(schedule, level):
    """Signal and noise, by the formulas of the documents."""
    if schedule["use"] == "geometric":
        return 1.0, level
    lost = 0.1 * level + 19.9 / 2 * level**2
    return math.exp(-lost / 2), math.sqrt(1 - math.exp(-lost))


both = pytest.mark.parametrize("schedule", [VP, SIGMAS], ids=["vp", "geometric"])


@both
def test_levels_go_from_the_most_noise_to_the_least_in_equal_ratios(schedule):
    found = noised.levels(view_on(schedule).schedule, 3)
    most, middle, least = (noise / signal for signal, noise in (amounts(schedule, level) for level in found))
    assert found[0] == pytest.approx(5.0 if schedule is SIGMAS else 1.0)
    assert found[-1] == pytest.approx(0.05 if schedule is SIGMAS else 0.001)
    assert middle == pytest.approx(math.sqrt(most * least), rel=1e-6)


def test_few_levels_are_shown_once():
    assert noised.levels(view_on({**SIGMAS, "count": 2}).schedule, 4) == pytest.approx([5.0, 0.05])


@pytest.mark.parametrize("position", [0, 1, 2])
@both
def test_arrows_follow_the_score_of_noised_data_and_dots_are_such_data(axes, schedule, position):
    view = view_on(schedule)
    panel = [panel for panel in noised.panels(view) if panel.name.startswith("score-")][position]
    level = noised.levels(view.schedule, 3)[position]
    signal, noise = amounts(schedule, level)
    words = plain(panel.draw(axes, view))
    (arrows,) = [artist for artist in axes.collections if isinstance(artist, Quiver)]
    at, along = arrows.get_offsets(), np.stack([arrows.U, arrows.V], axis=1)
    score = -(at - signal * MEAN) / (signal**2 * VARIANCE + noise**2)
    size, length = np.linalg.norm(score, axis=1), np.linalg.norm(along, axis=1)
    far = size > 0.2 * np.median(size)
    assert np.allclose((along * score).sum(1)[far], (length * size)[far], rtol=1e-3)
    assert np.allclose(length[far], (size / (size + np.median(size)))[far], rtol=0.02)
    assert f"{level:.3g}" in plain(panel.title)
    assert float(words.partition(", median")[0].rpartition(" to ")[2]) == pytest.approx(size.max(), rel=1e-3)
    points = noised.noised(view, level).double()
    assert len(points) == plane.POINTS
    spread = math.sqrt(signal**2 * VARIANCE + noise**2)
    assert float((points.mean(0) - signal * MEAN).abs().max()) < 6 * spread / math.sqrt(len(points))
    assert points.std(0).tolist() == pytest.approx([spread] * 2, rel=6 / math.sqrt(2 * len(points)))
    # What is shown of them, and that the axes are around them.
    dots = next(each for each in axes.collections if not isinstance(each, Quiver) and each.get_label() == "noised data")
    assert np.allclose(dots.get_offsets(), points[: plane.FEW])
    assert axes.get_xlim()[1] - axes.get_xlim()[0] == pytest.approx(2 * 1.15 * 2.88 * spread, rel=0.15)


@both
def test_the_lines_and_the_energy_are_those_of_the_level(schedule):
    """E(x, level) = |x - signal m|^2 / 2 v + a constant, of which differences are seen."""
    view = view_on(schedule)
    x = torch.tensor([[0.0, 0.0], [1.0, -2.0]])
    for level in (*noised.levels(view.schedule, 3), None):
        signal, noise = amounts(schedule, noised.levels(view.schedule, 2)[-1] if level is None else level)
        low, high = (x - signal * MEAN).square().sum(1) / (2 * (signal**2 * VARIANCE + noise**2))
        found = view.energy(x, level)
        assert float(found[1] - found[0]) == pytest.approx(float(high - low), rel=1e-4)


@both
def test_on_the_line_scores_are_straight_and_the_density_is_normal(axes, schedule):
    view = view_on(schedule, (1,))
    noised.draw_scores(axes, view)
    levels = noised.levels(view.schedule, 4)
    for level, curve in zip(levels, axes.lines, strict=False):
        signal, noise = amounts(schedule, level)
        x, y = curve.get_xdata(), curve.get_ydata()
        exact = -noise * (np.asarray(x) - signal * MEAN) / (signal**2 * VARIANCE + noise**2)
        assert np.allclose(y, exact, rtol=1e-4, atol=1e-4)
    assert len(axes.lines) == 5
    axes.clear()
    line.draw_density(axes, view)
    signal, noise = amounts(schedule, levels[-1])
    v = signal**2 * VARIANCE + noise**2
    (density,) = axes.lines
    x = np.asarray(density.get_xdata())
    exact = np.exp(-((x - signal * MEAN) ** 2) / (2 * v)) / math.sqrt(2 * math.pi * v)
    assert np.allclose(density.get_ydata(), exact, atol=1e-3)


def test_the_schedule_is_drawn_with_what_the_data_gave_it(axes):
    auto = {**SIGMAS, "sigma_max": "auto"}
    view = view_on(auto, model={"use": "mlp_score", "hidden": [4]})
    widest = float(torch.cdist(view.data("train"), view.data("train")).max())
    words = noised.draw_schedule(axes, view)
    drawn = axes.lines[0].get_ydata()
    assert drawn[0] == pytest.approx(widest, rel=1e-4)
    assert drawn[-1] == pytest.approx(0.05)
    ratio = (widest / 0.05) ** (1 / 8)
    assert f"9 levels, from {widest:.4g} to 0.05. Each is {ratio:.4g} times the next." in words
    assert "largest distance between two training points" in words
    assert f"largest: {widest:.4g}, from the data" in [text.get_text() for text in axes.texts]


def test_signal_and_noise_are_drawn_over_time(axes):
    words = plain(noised.draw_schedule(axes, view_on(VP)))
    signal, noise = axes.lines
    for t, a, n in zip(signal.get_xdata(), signal.get_ydata(), noise.get_ydata(), strict=True):
        assert (a, n) == pytest.approx(amounts(VP, t), abs=1e-9)
    assert "Signal 0.006572 and noise 1 at t = 1." in words
    assert "largest distance" not in words


@both
def test_chains_are_seen_from_noise_to_clean_samples(schedule):
    view = view_on(schedule)
    before = view.samples(50).clone()
    with view.drawing_from("report/way"):
        moments = view.trajectory(4000, 6, view.rng)
    levels = [level for level, _ in moments]
    assert len(moments) == 6
    assert levels[0] == pytest.approx(5.0 if schedule is SIGMAS else 1.0)
    assert levels[-1] is None
    assert levels[:-1] == sorted(levels[:-1], reverse=True)
    first, last = moments[0][1].double(), moments[-1][1].double()
    wide = 5.0 if schedule is SIGMAS else 1.0
    assert first.std(0).tolist() == pytest.approx([wide] * 2, rel=6 / math.sqrt(2 * len(first)))
    chain = run_chain(
        view.plan.chain_sampler, view.parts.evaluated, torch.zeros(4000, 2), view.streams.generator("report/way")
    )
    assert torch.equal(last, chain.x.double())
    if schedule is VP:
        assert levels[:-1] == pytest.approx(times(view.schedule, 20, "log_snr")[:20:4].tolist())
    assert torch.equal(view.samples(50), before)
    # As a chain of so few steps, no more moments than states.
    few = view_of(load_spec(FEW), None)
    assert [len(x) for _, x in few.trajectory(3, 6, torch.Generator().manual_seed(0))] == [3, 3, 3]


def test_the_figure_of_the_way_moves_no_other_number(axes):
    one, two = view_on(VP), view_on(VP)
    noised.draw_trajectory(axes, one)
    assert torch.equal(one.samples(50), two.samples(50))
    assert torch.equal(torch.rand(3, generator=one.rng), torch.rand(3, generator=two.rng))
    assert len(axes.child_axes) == noised.MOMENTS
    again = Figure().add_subplot()
    assert noised.draw_trajectory(again, two) == noised.draw_trajectory(again, two)


CASES = {
    "exact": ((2,), None, None, ["energy", "score-0", "score-1", "score-2", "way", "schedule"]),
    "score": ((2,), {"use": "mlp_score", "hidden": [4]}, None, ["score-0", "score-1", "score-2", "way", "schedule"]),
    "potential": (
        (2,),
        {"use": "mlp_potential", "hidden": [4]},
        None,
        ["energy", "score-0", "score-1", "score-2", "way", "schedule"],
    ),
    "labelled": (
        (2,),
        {"use": "mlp_potential", "hidden": [4], "classes": 2},
        {"use": "two_moons", "size": 100, "test_size": 100},
        ["score-0", "score-1", "score-2", "way", "schedule"],
    ),
    "line": ((1,), {"use": "mlp_score", "hidden": [4]}, None, ["scores", "way", "schedule"]),
    "long": ((5,), None, None, ["way", "schedule"]),
    "image": ((1, 4, 4), None, None, ["way", "inpainting", "schedule"]),
    "block": ((2, 2, 2), None, None, ["schedule"]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_sort_of_model_has_its_panels_and_all_can_be_drawn(name, axes):
    event, model, data, names = CASES[name]
    view = view_on(SIGMAS if name in ("score", "labelled", "long") else VP, event, model, data)
    panels = noised.panels(view)
    assert [panel.name for panel in panels] == names
    assert [panel for panel in offered_panels(view) if panel.name in names]
    for panel in panels:
        axes.clear()
        caption = panel.draw(axes, view)
        assert caption
        assert "nan" not in caption
    svg, _ = draw_svg(panels[-1], view, "a-")
    assert "<svg" in svg


def test_plain_models_have_none_of_them():
    plan = load_spec({"ebmkit": 1, "model": {"use": "gaussian"}, "sampler": {"use": "langevin", "steps": 2}})
    assert noised.panels(view_of(plan, None)) == []


def test_half_of_an_image_is_known_and_stands_above_what_is_drawn(axes):
    view = view_on(VP, (1, 4, 4))
    noised.draw_inpainting(axes, view)
    ((picture,),) = [child.get_images() for child in axes.child_axes]
    pixels = picture.get_array()
    assert pixels.shape == (4 * 5 - 1, 8 * 5 - 1, 4)
    known, *drawn, original = (pixels[5 * row : 5 * row + 4] for row in range(4))
    for column in range(0, 40, 5):
        left, right = slice(column, column + 2), slice(column + 2, column + 4)
        assert (known[:, right, 3] == 0).all()
        assert (known[:, left] == original[:, left]).all()
        assert all((each[:, left] == original[:, left]).all() for each in drawn)
    assert (drawn[0] != drawn[1]).any()
    assert (drawn[0] != original).any()


def test_samples_stand_above_the_nearest_training_images_and_copies_cannot_hide(axes):
    """The last three samples are copies: they are in the lower band, with a distance of zero."""
    view = view_by_hand((1, 4, 4))
    train, draw = view.data("train"), view.samples
    view.samples = lambda n: torch.cat([draw(n)[: n - 3], train[7:10]])
    words = images.draw_neighbours(axes, view)
    first, nearest = (child.get_images()[0].get_array() for child in axes.child_axes)
    labels = [[tick.get_text() for tick in child.get_xticklabels()] for child in axes.child_axes]
    assert labels[1][:3] == ["0", "0", "0"]
    apart = torch.cdist(view.samples(200).flatten(1), train.flatten(1))
    assert labels[0] == [f"{float(distance):.2g}" for distance in apart.min(1).values[:8]]
    assert (nearest[:4, :14] == nearest[5:, :14]).all()
    low, high = images.shades(view, train)
    below = images.tiles(view, train[apart.argmin(1)[:8]], low, high)
    assert (first[5:] == below).all()
    medians = [float(apart.min(1).values.quantile(0.5))]
    medians.append(float(torch.cdist(view.data("test")[:200].flatten(1), train.flatten(1)).min(1).values.quantile(0.5)))
    assert f"median {medians[0]:.4g} for 200 samples" in words
    assert f"{medians[1]:.4g} for held-out images" in words
