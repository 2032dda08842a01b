"""Panels of layers of hidden units, of chains and of memories, drawn for runs whose numbers are counted by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ebmkit import load_spec
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.chain_course import moments_of
from ebmkit.report.panels import course, layers, recall
from ebmkit.report.panels.builtin import ebmkit_report_panels

DIGITS = {"use": "digits", "binarize": "binary"}
PAIRS = {"use": "from_model", "model": {"use": "gaussian", "mean": [1, -1]}, "size": 50, "test_size": 40}
TRAIN = {"objective": "exact_mle", "train": {"steps": 1}}


@pytest.fixture
def axes():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def view_of(**spec):
    """A run before its first step, with one thread."""
    plan = load_spec({"ebmkit": 1, "device": "cpu", "samples": 20, **spec})
    threads = torch.get_num_threads()
    view = assemble(plan, build(plan))
    torch.set_num_threads(threads)
    return view


def machine(data=DIGITS, **model):
    return view_of(data=data, model={"use": "rbm", **model}, objective="pseudo_likelihood", train={"steps": 1})


def names(view):
    return [panel.name for panel in ebmkit_report_panels(view)]


def set_to(parameter, value):
    with torch.no_grad():
        parameter.copy_(torch.as_tensor(value).expand_as(parameter))


def test_panels_are_offered_by_abilities():
    trained = machine(hidden=3)
    assert {"fields-1", "activations", "reconstructions", "course"} <= {*names(trained)}
    deep = view_of(
        data=DIGITS,
        model={"use": "dbn", "hidden": [4, 3, 2]},
        objective="pseudo_likelihood",
        train={"steps": 1},
    )
    assert {"fields-1", "fields-2", "fields-3", "activations", "reconstructions", "course"} <= {*names(deep)}
    alone = view_of(model={"use": "rbm", "shape": [4], "hidden": 2}, sampler="gibbs")
    assert "fields-1" in names(alone)
    assert not {"activations", "reconstructions"} & {*names(alone)}
    interacting = view_of(model={"use": "boltzmann", "shape": [4], "hidden": 2}, sampler="gibbs")
    assert "fields-1" in names(interacting)
    visible = view_of(model={"use": "ising", "shape": [4, 4]}, sampler="gibbs")
    assert "course" in names(visible)
    network = view_of(data="two_moons", model="mlp", sampler="langevin", **TRAIN)
    assert not {"fields-1", "activations", "reconstructions", "course", "recall"} & {*names(network)}


def test_fields_are_the_weights_of_each_unit(axes):
    """Of 3 units, the second of which sees one pixel only."""
    view = machine(hidden=3)
    weights = torch.zeros(64, 3)
    weights[:, 0] = 0.5
    weights[9, 1] = -1.0
    set_to(view.module.weights, weights)
    words = layers.draw_fields(axes, view, layer=0)
    assert words.startswith("All 3 units")
    assert "Norms of fields: 0 to 4." in words
    (picture,) = axes.images
    shown = np.asarray(picture.get_array())
    assert shown.shape == (2 * 9 - 1, 2 * 9 - 1, 4)
    grey = {tuple(pixel) for pixel in shown[:8, :8, :3].reshape(-1, 3).tolist()}
    assert len(grey) == 1  # a constant field
    second = shown[:8, 9:17, 0].astype(int)
    assert second[1, 1] == second.min() < second[0, 0]
    assert not shown[9:, 9:, 3].any()  # there is no fourth unit


def test_fields_of_flat_states_are_bars(axes):
    view = view_of(data=PAIRS, model={"use": "gaussian_rbm", "hidden": 20}, **TRAIN)
    set_to(view.module.weights, torch.arange(40.0).view(20, 2).T)
    words = layers.draw_fields(axes, view, layer=0)
    assert "The 12 largest of 20 units" in words
    assert len(axes.child_axes) == 12
    (bars,) = axes.child_axes[0].patches
    assert np.allclose(bars.get_data().values, [16, 17])  # of the ninth unit


def test_dead_saturated_and_indifferent_units_are_counted(axes):
    """Of 5 units two are off, one is on and one responds to no point; the last follows a pixel."""
    view = machine(hidden=5)
    weights = torch.zeros(64, 5)
    pixel = int(view.data("test").flatten(1).var(0).argmax())
    weights[pixel, 4] = 20.0
    set_to(view.module.weights, weights)
    set_to(view.module.hidden_biases, torch.tensor([-20.0, -9.0, 20.0, 0.3, -10.0]))
    words = layers.draw_activations(axes, view)
    assert "Of 5 hidden units, 2 are dead" in words
    assert "1 saturated" in words
    assert "and 1 others respond alike" in words
    heights = np.histogram([0, 0, 1, 0.574, float(view.data("test").flatten(1)[:, pixel].mean())], 40, (0, 1))[0]
    (outline,) = axes.patches
    assert outline.get_xy()[:, 1].max() == heights.max()


@pytest.mark.parametrize("values", ["binary", "spin"])
def test_reconstructions_are_means_in_the_values_of_the_units(axes, values):
    view = machine({"use": "digits", "binarize": values}, hidden=4, values=values)
    set_to(view.module.weights, 0.0)
    set_to(view.module.visible_biases, 0.0)
    low = {"binary": 0.0, "spin": -1.0}[values]
    means = layers.reconstructed(view, view.data("test"))
    assert torch.equal(means, torch.full_like(means, (1 + low) / 2))
    words = layers.draw_reconstructions(axes, view)
    assert f"per coordinate: {((1 - low) / 2) ** 2:.4g} over" in words
    (picture,) = axes.images
    assert np.asarray(picture.get_array()).shape == (6 * 9 - 1, 12 * 9 - 1, 4)


def test_reconstructions_of_points_are_drawn_in_the_units_of_the_data(axes):
    """The network sees points of unit variance, and a machine without weights gives back their mean."""
    view = view_of(data=PAIRS, model={"use": "gaussian_rbm", "hidden": 2}, scale="standardize", **TRAIN)
    set_to(view.scaled.module.weights, 0.0)
    words = layers.draw_reconstructions(axes, view)
    back, mean = map(float, re.search(r"coordinate: (\S+) over .* data (\S+)\.$", words).groups())
    assert back == pytest.approx(mean, rel=1e-3)
    line = axes.child_axes[0].patches[1].get_data().values
    assert np.allclose(line, view.data("train").mean(0), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "sampler"),
    [
        ({"use": "ising", "shape": [3, 4], "coupling": 0.2}, {"use": "gibbs", "steps": 30}),
        ({"use": "rbm", "shape": [1, 3, 4], "hidden": 3}, {"use": "gibbs", "steps": 30}),
        ({"use": "gaussian_rbm", "shape": [5], "hidden": 3}, {"use": "gibbs", "steps": 30}),
        ({"use": "dbn", "shape": [6], "hidden": [3, 2]}, {"use": "ancestral", "steps": 30}),
        ({"use": "boltzmann", "shape": [6], "hidden": 2}, {"use": "gibbs", "steps": 30}),
        ({"use": "rbm", "shape": [6], "hidden": 2}, {"use": "parallel_tempering", "sampler": "gibbs", "steps": 30}),
    ],
    ids=str,
)
def test_courses_are_visible_states_of_one_chain(axes, model, sampler):
    view = view_of(model=model, sampler=sampler)
    found = view.course(7, 4, view.streams.generator("test"))
    assert [step for step, _ in found] == [0, *moments_of(30, 4)]
    assert all(x.shape == (7, *view.event) for _, x in found)
    again = view.course(7, 2, view.streams.generator("test"))
    assert torch.equal(again[0][1], found[0][1])
    assert torch.equal(again[-1][1], found[-1][1])  # recording changes no chain
    if view.spec.model.traits().space != "real":
        assert all(set(x.unique().tolist()) <= set(view.module.unit_values) for _, x in found)
    assert course.draw_course(axes, view).startswith("After 0, 1")


def test_chains_that_cost_too_much_are_not_run_for_the_report():
    lattice = {"use": "ising", "shape": [256, 256]}
    assert "course" in names(view_of(model=lattice, sampler={"use": "gibbs", "steps": 100}))
    assert "course" not in names(view_of(model=lattice, sampler={"use": "gibbs", "steps": 10_000}))


def test_moments_are_few_and_end_at_the_last_step():
    for steps in (1, 2, 9, 10, 500):
        for count in (1, 2, 10):
            found = moments_of(steps, count)
            assert found == sorted(set(found))
            assert found[-1] == steps
            assert 1 <= len(found) <= count
    assert moments_of(100, 3) == [1, 10, 100]


def test_courses_of_long_chains_are_their_draws(axes):
    view = view_of(
        model={"use": "ising", "shape": [3, 4]}, sampler="gibbs", chains={"count": 4, "burn_in": 0}, samples=40
    )
    view.samples(40)
    words = course.draw_course(axes, view)
    assert words.startswith("After 0, 1, 2, 3, 4, 5, 6, 7, 8 and 9 steps.")
    x = view.draws.x
    share = float((x[:, 9] != x[:, 0]).double().mean())
    assert f"{share:.2f} after 9 draws." in words


def test_overlaps_and_nearest_patterns_are_counted():
    patterns = torch.tensor([[1.0, 1, 1, 1], [-1, -1, 1, 1]])
    x = torch.tensor([[1.0, 1, 1, -1], [-1, -1, -1, 1], [1, -1, 1, 1]])
    nearest = recall.nearest_pattern(x, patterns)
    assert nearest.tolist() == [0, 1, 0]
    assert recall.overlap(x, patterns[nearest]).tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("shape", [[60], [1, 6, 10]], ids=str)
@pytest.mark.parametrize("values", ["binary", "spin"])
def test_recall_starts_at_patterns_and_ends_at_them(axes, shape, values):
    """Two patterns are far below the capacity of 60 units."""
    model = {"use": "hopfield", "patterns": 2, "shape": shape, "values": values}
    view = view_of(model=model, init={"use": "patterns", "flip": 0.1}, sampler="icm")
    (panel,) = recall.panels(view)
    words = panel.draw(axes, view)
    assert "the overlap is 0.8 at the start and 1 at the end; 100% end at the pattern." in words
    if len(shape) == 1:
        shown = np.asarray(axes.child_axes[0].images[0].get_array())
        assert (shown >= 2).sum(1).tolist() == [0, 6, 0]  # wrong units are marked in the start only


def test_restored_images_stand_next_to_the_true_one(axes):
    model = {"use": "grid_mrf", "image": ["1111", "1111"], "observed": ["1111", "1101"], "noise": 0.2, "coupling": 0.9}
    view = view_of(model=model, sampler="exact_map")
    (panel,) = recall.panels(view)
    assert panel.draw(axes, view) == "Wrong pixels: 12.50% of the observed image, 0.00% of 20 restored ones."
    shown = np.asarray(axes.images[0].get_array())
    assert shown[1, 5 + 2, 0] == 0  # the wrong pixel of the second tile
    assert shown[1, 2, 0] == shown[1, 10 + 2, 0] == 255
