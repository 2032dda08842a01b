"""What the panels draw, against a Gaussian of which everything is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

from ebmkit.report.panels import chains, energies, images, line, plane, training
from tests.report.views import VARIANCE, view_by_hand


@pytest.fixture
def axes():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def plain(words):
    return words.replace("\N{NO-BREAK SPACE}", " ")


def test_arrows_point_along_the_score_and_long_ones_are_cut(axes):
    plane.draw_score(axes, view_by_hand((2,)))
    (arrows,) = [artist for artist in axes.collections if isinstance(artist, Quiver)]
    at, along = arrows.get_offsets(), np.stack([arrows.U, arrows.V], axis=1)
    score = -at / VARIANCE
    size, length = np.linalg.norm(score, axis=1), np.linalg.norm(along, axis=1)
    far = size > 1e-6
    assert np.allclose((along * score).sum(1)[far], (length * size)[far])  # the angle is zero
    assert length.max() < 1
    assert np.allclose(length, size / (size + np.median(size)), atol=1e-6)
    assert len(at) == plane.ARROWS**2


def test_the_caption_of_the_energy_has_its_lowest_and_highest_value(axes):
    view = view_by_hand((2,))
    words = plane.draw_energy(axes, view)
    left, right, bottom, top = plane.limits(view)
    corner = max(abs(left), abs(right)) ** 2 + max(abs(bottom), abs(top)) ** 2
    assert f"highest {corner / (2 * VARIANCE):.4g} " in words
    lowest = float(words.removeprefix("Lowest ").partition(",")[0])
    assert 0 <= lowest < 1e-3  # the grid passes the origin nearby


def test_points_outside_are_counted_and_so_are_those_that_are_nowhere():
    points = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, -2.0], [math.nan, 0.0], [0.0, math.inf], [1.0, 1.0]])
    assert plane.outside(points, (-1, 1, -1, 1)) == 4


def area(axes, label):
    """Of the outline that stands in the legend."""
    handles, labels = axes.get_legend_handles_labels()
    x, y = handles[labels.index(label)].get_xy().T
    return abs(float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())) / 2


def test_histograms_of_energies_have_area_one_as_far_as_they_are_shown(axes):
    view = view_by_hand((10,))
    words = plain(energies.draw_energies(axes, view))
    _, high = axes.get_xlim()
    noise = view.energy(view.starts(energies.POINTS))
    inside = float((noise <= high).double().mean())
    assert 0 < inside < 0.5  # noise is so wide that most of it is cut off
    assert area(axes, "chain starts") == pytest.approx(inside, abs=1e-9)
    for name, points in (("training data", view.data("train")), ("held-out data", view.data("test"))):
        assert area(axes, name) == pytest.approx(1, abs=0.011)
        energy = view.energy(points).numpy()
        assert f"{name} {energy.mean():.3g} ± {energy.std():.3g}" in words
    assert f"{1 - inside:.1%} of chain starts" in words
    # Whatever is cut off is seen in the corner.
    (corner,) = axes.child_axes
    assert area(corner, "chain starts") == pytest.approx(0.99, abs=0.002)


def test_near_noise_needs_no_corner(axes):
    view = view_by_hand((10,))
    view.starts = view.samples
    words = energies.draw_energies(axes, view)
    assert not axes.child_axes
    assert area(axes, "chain starts") == pytest.approx(1, abs=0.011)
    assert "Not finite" not in words


def test_energies_that_are_not_finite_are_counted(axes):
    view = view_by_hand((2,))
    energy = view.energy
    view.energy = lambda x: torch.where(x[:, 0] > 3, math.inf, energy(x))
    lost = int((view.starts(energies.POINTS)[:, 0] > 3).sum())
    assert lost > 10
    assert energies.draw_energies(axes, view).endswith(f" Not finite: {lost} of chain starts.")


def test_the_density_on_the_line_is_normalised_and_lies_on_the_histograms(axes):
    view = view_by_hand((1,))
    words = line.draw_density(axes, view)
    assert f"log Z = {0.5 * math.log(2 * math.pi * VARIANCE):.4g} by quadrature" in words
    (curve,) = axes.lines
    x, density = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-6)
    assert density.max() == pytest.approx((2 * math.pi * VARIANCE) ** -0.5, rel=1e-4)


def test_the_energy_on_the_line_is_lowest_in_the_middle(axes):
    words = line.draw_energy(axes, view_by_hand((1,)))
    at, lowest = (float(word.strip(" .,")) for word in words.removeprefix("Lowest at x = ").split("where it is"))
    assert abs(at) < 0.01
    assert lowest < 1e-4


def test_traces_are_drawn_as_they_are(axes):
    values = torch.tensor([4.0, 2.0, 1.0, 1.0])
    view = view_by_hand((2,), traces={"gradient_norm": values, "acceptance": values / 4, "unknown": values})
    names = [panel.name for panel in chains.panels(view)]
    assert names == ["chains-gradient_norm", "chains-acceptance"]
    words = chains.panels(view)[0].draw(axes, view)
    assert words.endswith("4 at the first of 4 steps, 1 at the last, 2 on average.")
    assert axes.lines[0].get_ydata().tolist() == values.tolist()


def test_every_series_that_has_a_course_has_a_panel(axes):
    course = [(1, 3.0), (10, 2.0)]
    series = dict.fromkeys(("loss", "energy_data", "v", "fid", "fid_floor", "fido"), course) | {"once": [(10, 1.0)]}
    series["energy_gap"] = [*course, (11, 1.0)]  # of a metric, not of the objective
    view = view_by_hand((2,), step=10, series=series)
    assert [panel.name for panel in training.panels(view)] == ["training"]
    titles = [panel.title for panel in training.details(view)]
    assert titles == [f"{name} over training" for name in ("energy_gap", "fid", "fido", "v")]
    words = training.draw_training(axes, view)
    what = "energy_data (mean energy of the data in a batch)"
    assert words == f"loss: 3 at step 1, 2 at step 10. {what}: 3 at step 1, 2 at step 10."
    fid = training.details(view)[1].draw(axes, view)
    assert fid == "fid: 3 at step 1, 2 at step 10. fid_floor: 3 at step 1, 2 at step 10."


def test_a_large_family_is_drawn_whole(axes):
    names = ["fid", *(f"fid_{i}" for i in range(8))]
    view = view_by_hand((2,), step=2, series={name: [(1, 1.0), (2, 2.0)] for name in names})
    (panel,) = training.details(view)
    panel.draw(axes, view)
    assert [line.get_label() for line in axes.lines] == names


def test_looking_at_the_series_adds_none():
    from collections import defaultdict

    view = view_by_hand((2,), series=defaultdict(list, {"v": [(1, 1.0), (2, 1.0)]}))
    training.panels(view)
    training.details(view)
    assert list(view.history.series) == ["v"]


@pytest.mark.parametrize("channels", [1, 3])
def test_tiles_stand_where_they_belong_and_saturate(channels):
    view = view_by_hand((channels, 2, 3))
    x = torch.zeros(70, channels, 2, 3)
    x[9, -1, 1, 2] = 1.0  # the second row of tiles, its second tile, lower right
    x[10] = -5.0
    x[11] = 7.0
    shown = images.tiles(view, x, 0.0, 1.0)
    assert shown.shape == (8 * 3 - 1, 8 * 4 - 1, 4)
    assert not shown[2::3].any()  # between the rows
    assert not shown[:, 3::4].any()
    assert (shown[..., 3] == 255).sum() == 64 * 2 * 3
    color = shown[..., :3]
    assert color[4, 6].tolist() == ([255] * 3 if channels == 1 else [0, 0, 255])
    assert color[3:5, 8:11].max() == 0
    assert color[3:5, 12:15].min() == 255
    color[4, 6], color[3:5, 12:15] = 0, 0
    assert color.max() == 0


def test_samples_clamped_to_the_range_of_the_pixels_do_not_saturate(axes):
    view = view_by_hand((1, 2, 2))
    dequantized = 2 * (torch.randint(256, (300, 1, 2, 2)) + torch.rand(300, 1, 2, 2, dtype=torch.float64)) / 256 - 1
    view.data = lambda split: dequantized.clamp(-1 + 1e-3, 1 - 1e-3)
    view.samples = lambda n: torch.tensor([-1.0, 1.0], dtype=torch.float64).repeat(200).view(100, 1, 2, 2)
    assert "beyond" not in images.draw_samples(axes, view)


def test_captions_of_images_tell_how_much_saturates(axes):
    view = view_by_hand((1, 2, 2))
    high = float(view.data("test").max())
    x = torch.zeros(100, 1, 2, 2, dtype=torch.float64)
    x[0] = high + 1
    view.samples = lambda n: x
    assert images.draw_samples(axes, view).endswith("1.0% of them beyond black or white.")


@pytest.mark.parametrize("dimension", range(2, 10))
def test_every_frame_of_the_marginals_shows_a_coordinate(axes, dimension):
    from ebmkit.report.panels import marginals

    marginals.draw_marginals(axes, view_by_hand((dimension,)))
    assert [bool(frame.patches) for frame in axes.child_axes] == [True] * min(dimension, marginals.MOST)


@pytest.mark.parametrize("count", range(1, 10))
def test_a_grid_of_small_axes_ends_with_the_last_one(axes, count):
    from ebmkit.report.style import small_axes

    frames = small_axes(axes, -(-count // 3), 3, gap=(0.1, 0.4), count=count)
    assert axes.child_axes == frames
    assert len(frames) == count
