"""The report of a sampling experiment: what is drawn, against draws and laws of which everything is known."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ebmkit import load_spec
from ebmkit.contracts.draws import Draws
from ebmkit.diagnostics.autocorrelation import autocorrelation
from ebmkit.engine.mixing import mixing as measure
from ebmkit.engine.mixing import verdict
from ebmkit.engine.sampling import give_kept_samples, view_of
from ebmkit.report.page import write_report
from ebmkit.report.panels import discrete, images, line, marginals, mixing, plane, traces
from ebmkit.report.panels.coordinates import chosen, quantities, which
from ebmkit.report.panels.exact import exact_draws, has_exact
from ebmkit.report.panels.offered import offered_panels
from ebmkit.report.style import BAD, CHAINS
from tests.drawn import run

from .test_page import figures

MIXTURE = {"use": "gaussian_mixture", "means": [[-1.0] * 10, [1.0] * 10]}
IMAGE = {"use": "gaussian", "mean": [0.0] * 30, "shape": [1, 5, 6]}
TRIPLE = {"use": "boltzmann", "weights": [[0, -1, -1], [-1, 0, 2], [-1, 2, 0]], "biases": [0, 1, 0], "values": "spin"}
LATTICE = {"use": "ising", "shape": [6, 6], "coupling": 0.2}


def plan_of(model, sampler="metropolis", **more):
    spec = {"ebmkit": 1, "name": "sampling", "device": "cpu", "model": model, "sampler": sampler, "samples": 200}
    return load_spec({**spec, **more})


def drawn(model, sampler="metropolis", chains=(4, 50), **more):
    """A view whose draws are independent where the model gives such, and otherwise of chains."""
    count, length = chains
    chains = {"count": count, "burn_in": 5}
    view = view_of(plan_of(model, sampler, chains=chains, samples=count * length, **more), None)
    view.samples(count * length)
    return view


@pytest.fixture
def axes():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def names(view):
    return [panel.name for panel in offered_panels(view)]


def text_of(axes):
    return [text.get_text() for small in [axes, *axes.child_axes] for text in small.texts]


# Which panels there are.

ALONG = ["autocorrelation", "acceptance"]


@pytest.mark.parametrize(
    ("model", "sampler", "seen"),
    [
        ("mixture_1d", "metropolis", ["density", "energy", "mixing", "ranks", "traces", *ALONG]),
        (
            "banana",
            "metropolis",
            ["exact", "samples", "energy", "score", "marginals", "mixing", "ranks", "traces", *ALONG],
        ),
        (MIXTURE, "metropolis", ["exact", "samples", "marginals", "mixing", "ranks", "traces", *ALONG]),
        (
            IMAGE,
            "metropolis",
            ["exact", "samples", "moments", "marginals", "mixing", "mixing-map", "ranks", "traces", *ALONG],
        ),
        (TRIPLE, "gibbs", ["units", "states", "course", "mixing", "traces", "autocorrelation"]),
        (
            LATTICE,
            "gibbs",
            ["samples", "moments", "units", "course", "mixing", "mixing-map", "ranks", "traces", "autocorrelation"],
        ),
    ],
    ids=["d=1", "d=2", "d=10", "image", "three units", "lattice"],
)
def test_every_state_has_its_panels_and_none_fails(model, sampler, seen):
    view = drawn(model, sampler)
    assert names(view) == [*seen, "energies"]
    page = write_report(view, {}, "")
    assert "failed." not in page
    assert all(caption for _, caption in figures(page).values())
    assert len(page) < 2_000_000


@pytest.mark.parametrize(
    ("model", "seen"),
    [
        ("mixture_1d", ["density", "energy"]),
        ("banana", ["exact", "samples", "energy", "score", "marginals"]),
        (MIXTURE, ["exact", "samples", "marginals"]),
        (IMAGE, ["exact", "samples", "moments", "marginals"]),
    ],
)
def test_chains_that_keep_their_ends_have_panels_too(model, seen):
    view = view_of(plan_of(model, {"use": "metropolis", "steps": 3}), None)
    view.samples(200)
    assert names(view) == [*seen, "energies", "chains-energy", "chains-acceptance"]
    assert "failed." not in write_report(view, {}, "")


def test_a_warm_up_and_divergences_have_panels_where_there_are_some(axes):
    view = drawn("banana", {"use": "hmc", "leapfrog_steps": 2})
    assert "warmup" in names(view)
    assert "divergences" not in names(view)
    words = traces.draw_warmup(axes, view)
    kept, tried = view.draws.tuning["step_size"], view.draws.tuning["step_sizes"]
    assert f"From {float(tried[0]):.4g} to {float(kept):.4g} in 500 steps." in words
    low, high = (float(end) for end in view.draws.tuning["inverse_mass"].aminmax())
    assert f"{low:.4g} to {high:.4g}" in words
    view.draws.seen["divergence"][1, 3] = 1.0
    assert "divergences" in names(view)


@pytest.mark.long
def test_one_chain_and_chains_of_few_draws_have_pages():
    for chains in ((1, 60), (3, 2), (2, 5)):
        page = write_report(drawn("banana", chains=chains), {}, "")
        assert "failed." not in page, chains


# What they show.


def test_traces_are_the_draws_thinned_and_a_colour_a_chain(axes):
    view = drawn("banana", chains=(6, 1000))
    words = traces.draw_traces(axes, view)
    strips = axes.child_axes
    assert text_of(axes) == ["x[0]", "x[1]", "energy"]
    for strip, expected in zip(
        strips, (view.draws.x[..., 0], view.draws.x[..., 1], view.draws.seen["energy"]), strict=True
    ):
        assert [drawn.get_color() for drawn in strip.lines] == list(CHAINS)
        for drawn_line, chain in zip(strip.lines, expected, strict=False):
            assert np.allclose(drawn_line.get_ydata(), chain[::3], atol=1e-6)
            assert drawn_line.get_xdata()[1] == 4
    assert words.startswith("One in 3 of 1,000 draws of 4 of 6 chains, one colour each.")
    means = ", ".join(f"{mean:.4g}" for mean in view.draws.x[:4, :, 0].double().mean(1))
    assert f"x[0] {means};" in words


def test_autocorrelation_is_the_mean_over_chains_and_its_lag_is_told(axes):
    view = drawn("mixture_1d", {"use": "metropolis", "scale": 2.0}, chains=(4, 2000))
    words = traces.draw_autocorrelation(axes, view)
    rho = autocorrelation(view.draws.x[..., 0].double(), 1000).mean(0)
    first = int((rho < 0.05).nonzero()[0])
    shown = axes.lines[0].get_ydata()
    assert axes.lines[0].get_label() == "x"
    stride = axes.lines[0].get_xdata()[1]
    assert np.allclose(shown, rho[::stride][: len(shown)], atol=1e-9)
    assert axes.get_xlim()[1] >= first
    assert f"x at lag {first:,}" in words


def test_the_slowest_of_many_coordinates_are_chosen():
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(4, 300, 10, generator=rng, dtype=torch.float64)
    for slow in (3, 8):
        x[..., slow] = x[..., slow].cumsum(1)
    view = drawn(MIXTURE)
    assert chosen(view, 10) == list(range(10))
    view.give(x.flatten(0, 1), view.traces, Draws(x, {}, 300, {}))
    assert chosen(view, 2) == [3, 8]
    assert list(quantities(view, 2)) == ["x[3]", "x[8]"]
    assert which(view, 2).startswith("The 2 of 10 coordinates that mix most slowly.")
    assert which(view, 10) == ""


def test_figures_of_few_coordinates_are_dots_with_their_numbers(axes):
    view = drawn("banana", chains=(4, 400))
    words = mixing.draw_figures(axes, view)
    of = view.mixing.coordinates
    left, right = axes.child_axes
    at = {drawn.get_xdata()[0] for drawn in left.lines if len(drawn.get_xdata()) == 1}
    assert {float(value) for value in of.rhat} <= at
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["x[0]", "x[1]", "energy"]
    assert f"{float(of.rhat[0]):.3f}" in text_of(axes)
    assert f"{float(of.ess_bulk[1]):,.0f} / {float(of.ess_tail[1]):,.0f}" in text_of(axes)
    worst, where = view.mixing.largest("rhat")
    assert f"at most {worst:.4f} ({where})" in words
    per_thousand = 1000 * float(of.ess_bulk.min()) / (4 * view.draws.evaluations)
    assert f"Per 1,000 energy evaluations: {per_thousand:.4g}." in words
    wrong = [drawn for drawn in left.lines if drawn.get_color() == BAD and len(drawn.get_xdata()) == 1]
    assert len(wrong) == sum(float(part) > 1.01 for part in [*of.rhat, view.mixing.energy.rhat])
    assert right.get_xlim()[0] == 0


def test_a_coordinate_that_never_moved_is_named_in_its_row(axes):
    view = drawn("banana", chains=(4, 400))
    view.draws.x[..., 1] = 5.0
    view.give(view.draws.x.flatten(0, 1), view.traces, view.draws._replace(evaluations=7))
    mixing.draw_figures(axes, view)
    assert "never moved" in text_of(axes)


def test_figures_of_many_coordinates_are_curves_from_the_worst(axes):
    view = drawn(IMAGE, chains=(4, 100))
    mixing.draw_figures(axes, view)
    left, right = axes.child_axes
    of = view.mixing.coordinates
    assert np.allclose(left.lines[0].get_ydata(), of.rhat.flatten().sort(descending=True).values)
    assert np.allclose(right.lines[0].get_ydata(), of.ess_bulk.flatten().sort().values)
    assert np.allclose(right.lines[1].get_ydata(), of.ess_tail.flatten().sort().values)


def test_the_map_has_the_pixels_where_they_are(axes):
    view = drawn(IMAGE, chains=(4, 100))
    words = mixing.draw_map(axes, view)
    left, right = axes.child_axes
    of = view.mixing.coordinates
    assert np.allclose(left.images[0].get_array(), of.rhat[0])
    assert np.allclose(right.images[0].get_array(), of.ess_bulk[0])
    assert f"bulk ESS {float(of.ess_bulk.min()):.4g} to {float(of.ess_bulk.max()):.4g}" in words


def test_ranks_are_even_for_chains_that_agree_and_not_for_one_elsewhere(axes):
    view = drawn("mixture_1d", "exact", chains=(4, 2000))
    words = mixing.draw_ranks(axes, view)
    low, high = map(float, re.search(r"all chains: (\S+) to (\S+) times", words).groups())
    # A bin has 100 of 2,000 ranks: 5.7 standard deviations, for a false alarm of 1e-6 over 80 bins.
    assert 1 - 0.57 < low < high < 1 + 0.57
    stairs = axes.patches
    assert np.allclose([np.mean(stair.get_data().values) for stair in stairs], 1)
    view.draws.x[0] += 100.0
    shifted = re.search(r"all chains: (\S+) to (\S+) times", mixing.draw_ranks(axes, view)).groups()
    assert float(shifted[0]) == 0
    assert float(shifted[1]) > 2


def test_acceptance_is_averaged_over_stretches(axes):
    view = drawn("banana", chains=(4, 200))
    seen = view.draws.seen["acceptance"].double()
    words = traces.draw_acceptance(axes, view)
    assert f"{float(seen.mean()):.4g} on average" in words
    assert np.allclose(axes.lines[-1].get_ydata(), seen.mean(0).view(50, 4).mean(1))
    assert axes.lines[-1].get_xdata()[0] == 2.5


def test_divergences_are_counted_and_marked_where_they_happened(axes):
    view = drawn("banana", chains=(4, 200))
    view.draws.seen["divergence"][1, 3:5] = 1.0
    view.draws.seen["divergence"][2, 150] = 1.0
    words = traces.draw_divergences(axes, view)
    assert words.startswith("3 of 800 steps diverged")
    assert "in 2 of 4 chains; at most 2 in one chain" in words
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(3)
    axes.clear()
    words = plane.draw_samples(axes, view)
    assert words.endswith("Crosses: 3 of the 3 draws at which a step diverged.")
    expected = torch.stack([view.draws.x[1, 3], view.draws.x[1, 4], view.draws.x[2, 150]])
    assert np.allclose(axes.collections[-1].get_offsets(), expected)


def test_of_long_chains_points_of_every_chain_are_shown(axes):
    view = drawn("banana", chains=(4, 2000))
    view.draws.x.add_(10 * torch.arange(4.0).view(4, 1, 1))
    view.give(view.draws.x.flatten(0, 1), view.traces, view.draws)
    plane.draw_samples(axes, view)
    across = axes.collections[0].get_offsets()[:, 0]
    assert len(across) == plane.POINTS
    assert across.max() > 25
    some = view.samples(images.SIDE**2)
    assert len({round(float(mean) / 10) for mean in some.view(4, -1).mean(1)}) == 4


# Against exact draws.


def test_exact_draws_are_those_of_the_model_the_same_every_time_and_only_at_its_temperature():
    view = drawn("banana")
    assert has_exact(view)
    assert exact_draws(view, 50).equal(exact_draws(view, 50))
    x = exact_draws(view)
    assert x.shape == (10_000, 2)
    assert abs(float(x[:, 0].std()) - 2) < 0.1  # 7 standard errors
    assert not has_exact(drawn("banana", {"use": "metropolis", "temperature": 2.0}))
    assert not has_exact(drawn({"use": "mlp", "hidden": [4]}, data="two_moons"))


def test_marginals_tell_how_far_samples_are_from_exact_draws(axes):
    view = drawn(MIXTURE, "exact", chains=(4, 2500))
    words = marginals.draw_marginals(axes, view)
    gap = float(re.search(r"distribution functions by (\S+)\.$", words)[1])
    assert 0 < gap < 2.9 * (2 / 10_000) ** 0.5  # Kolmogorov's law, at 1e-6 over six coordinates
    assert len(axes.child_axes) == 6
    view.give(view.samples(10_000) + 1.0, view.traces)
    far = float(re.search(r"distribution functions by (\S+)\.$", marginals.draw_marginals(axes, view))[1])
    assert far > 0.1


def test_the_distance_between_distribution_functions():
    assert marginals.distance(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0
    assert marginals.distance(np.array([0.0, 1.0]), np.array([2.0])) == 1
    assert marginals.distance(np.array([0.0, 2.0]), np.array([1.0, 1.0])) == 0.5


def test_on_the_line_the_distance_stands_below_the_density(axes):
    words = line.draw_density(axes, drawn("mixture_1d", "exact", chains=(4, 2500)))
    gap = float(re.search(r"exact draws differ by at most (\S+)\.", words)[1])
    assert 0 < gap < 2.7 * (2 / 10_000) ** 0.5


def test_limits_are_those_of_exact_draws_so_that_what_is_missed_is_seen(axes):
    view = drawn("banana", chains=(2, 50))
    view.give(view.samples(100) * 0, view.traces)
    left, right, bottom, top = plane.limits(view)
    assert right - left == pytest.approx(top - bottom)
    assert bottom < -10
    wide = drawn({"use": "funnel", "dim": 3})
    left, right, bottom, top = plane.limits(wide)
    assert top - bottom > 2 * (right - left)  # coordinates of different kinds
    plane.draw_exact(axes, wide)
    assert "x[1] over x[0]" in text_of(axes)


def test_moments_of_images_share_their_shades_with_exact_ones(axes):
    view = drawn(IMAGE, "exact", chains=(4, 200))
    words = images.draw_moments(axes, view)
    assert [small.get_xlabel() for small in axes.child_axes] == [
        "mean, samples",
        "std, samples",
        "mean, exact draws",
        "std, exact draws",
    ]
    x = view.samples(800).double()
    assert f"std of samples {float(x.std(0).min()):.4g} to {float(x.std(0).max()):.4g}" in words
    low, high = images.shades(view, x)
    half = (high - low) / 2
    for small, picture, black, white in (
        (axes.child_axes[0], x.mean(0), low, high),
        (axes.child_axes[1], x.std(0), 0.0, half),  # what is chance stays faint
    ):
        shade = (255 * ((picture - black) / (white - black)).clamp(0, 1)).round()
        assert small.images[0].get_array()[..., 0].tolist() == shade.squeeze(0).tolist()


# Units of two values.


def test_unit_means_and_states_stand_against_enumeration(axes):
    view = drawn(TRIPLE, "exact", chains=(4, 5000))
    words = discrete.draw_states(axes, view)
    W, b = torch.tensor(TRIPLE["weights"], dtype=torch.float64), torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    states = torch.tensor([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=torch.float64)
    weight = (0.5 * torch.einsum("si,ij,sj->s", states, W, states) + states @ b).exp()
    p = weight / weight.sum()
    lines = axes.collections[0].get_segments()
    assert np.allclose([segment[0, 1] for segment in lines], p, atol=1e-6)
    heights = torch.tensor([bar.get_height() for bar in axes.patches])
    assert float((heights - p).abs().max()) < 5 * (0.25 / 20_000) ** 0.5
    assert f"011 {float(heights[3]):.3f} ({float(p[3]):.3f})" in words
    axes.clear()
    words = discrete.draw_units(axes, view)
    exact = (p[:, None] * states).sum(0)
    off = (view.samples(20_000).double().mean(0) - exact).abs()
    assert f"exact means is {float(off.max()):.4g} at x[{int(off.argmax())}]" in words
    assert np.allclose([segment[0, 1] for segment in axes.collections[-1].get_segments()], exact, atol=1e-6)


def test_another_temperature_has_other_probabilities(axes):
    view = drawn(TRIPLE, {"use": "gibbs", "temperature": 1000.0})
    discrete.draw_states(axes, view)
    p = [segment[0, 1] for segment in axes.collections[0].get_segments()]
    assert np.allclose(p, 1 / 8, atol=1e-2)


def test_many_units_are_followed_by_their_mean():
    view = drawn(LATTICE, "gibbs")
    assert list(quantities(view, 3)) == ["mean unit", "energy"]
    assert quantities(view, 3)["mean unit"].equal(view.draws.x.flatten(2).double().mean(2))


# The page of a run.


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    plan = plan_of(
        "banana",
        {"use": "mala", "step_size": 0.3},
        chains={"count": 4, "warmup": 50, "burn_in": 10},
        evaluate=["rhat", "ess"],
    )
    return run(plan, runs_dir=tmp_path_factory.mktemp("runs")).folder


def test_the_page_leads_with_the_verdict(finished):
    page = (finished / "report.html").read_text()
    view = view_of(load_spec(finished / "resolved.yaml"), finished)
    give_kept_samples(view, finished)
    assert view.draws.x.shape == (4, 50, 2)  # as many as the spec says
    words = verdict(view)
    assert words.startswith("R-hat at most ")
    assert words in page
    assert page.index(words) < page.index('<h2 id="results">')
    summary = json.loads((finished / "run.json").read_text())
    for warning in summary["warnings"]:
        assert warning in html.unescape(page)
    assert "mala, 4 chains of 110 steps" in page
    assert f"{summary['results']['rhat_max']:.5g}" in page
    assert f"ebmkit sample {finished} --out draws.zarr" in page


def test_the_page_that_is_written_anew_is_the_page_of_the_run(finished):
    """All figures, captions and words; when it was made, and how long it took, stand in `run.json`."""
    view = view_of(load_spec(finished / "resolved.yaml"), finished)
    give_kept_samples(view, finished)
    summary = json.loads((finished / "run.json").read_text())
    view.results = summary["results"]
    anew = write_report(view, summary, (finished / "lock.yaml").read_text())
    first = (finished / "report.html").read_text()

    def timeless(page):
        return re.sub(r"\d+\.\d s", "", page)

    assert len(first) < 2_000_000
    assert timeless(anew) == timeless(first)


def test_the_page_of_draws_that_make_no_sense_says_so(finished):
    view = view_of(load_spec(finished / "resolved.yaml"), finished)
    give_kept_samples(view, finished)
    view.draws.seen["energy"] = torch.zeros(3)  # a stranger's file
    assert "cannot be judged: " in write_report(view, {}, "")


def test_figures_are_measured_once(finished, monkeypatch):
    from ebmkit.engine import run_view as module

    counted = []
    monkeypatch.setattr(module, "mixing", lambda draws, names: counted.append(1) or measure(draws, names))
    view = view_of(load_spec(finished / "resolved.yaml"), finished)
    give_kept_samples(view, finished)
    assert view.mixing is view.mixing
    write_report(view, {}, "")
    assert len(counted) == 1
    give_kept_samples(view, finished)
    assert view.mixing
    assert len(counted) == 2
