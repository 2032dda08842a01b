from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from ebmkit import load_spec
from ebmkit.contracts.states import image_shape
from ebmkit.report.panels.offered import offered_panels
from ebmkit.report.style import DATA, ENERGY, SAMPLES
from ebmkit.report.summary import draw_summary
from tests.drawn import run

from .views import SPEC, view_by_hand

PAINTER = str(Path(__file__).with_name("painter.py"))


def coloured(picture, color):
    """How many pixels have roughly this colour."""
    wanted = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return int((np.abs(picture[..., :3] - wanted).max(-1) < 0.12).sum())


def test_a_run_leaves_a_picture_of_data_samples_energy_and_training(tmp_path):
    record = run(load_spec(SPEC), runs_dir=tmp_path)
    picture = imread(record.picture)
    assert picture.shape[1] > 1500
    for color in (DATA, SAMPLES, ENERGY[1]):
        assert coloured(picture, color) > 300, color


def test_a_plugin_adds_panels_and_a_failing_one_does_not_stop_the_run(tmp_path):
    plan = load_spec({**SPEC, "evaluate": ["painter.nothing"]}, plugins=[PAINTER])
    record = run(plan, runs_dir=tmp_path)
    assert record.status == "finished"
    assert coloured(imread(record.picture), "#ff0000") > 50_000
    view = sys.modules["ebmkit_plugin_painter"].VIEWS[0]
    names = [panel.name for panel in offered_panels(view) if not panel.detail]
    assert names == ["data", "samples", "energy", "training", "energies", "red", "broken", "formula"]


def test_a_plugin_whose_hook_fails_loses_its_own_panels_only(monkeypatch):
    plan = load_spec({**SPEC, "evaluate": ["painter.nothing"]}, plugins=[PAINTER])
    view = view_by_hand((2,), plan=plan)
    monkeypatch.setattr(sys.modules["ebmkit_plugin_painter"], "VIEWS", None)
    names = [panel.name for panel in offered_panels(view) if not panel.detail]
    assert names == ["data", "samples", "energy", "energies", "ebmkit_plugin_painter"]
    assert len(draw_summary(view)) > 10_000


def test_drawing_leaves_no_global_figure():
    import matplotlib.pyplot as plt

    draw_summary(view_by_hand((2,)))
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("event", "form"),
    [
        ((1, 8, 8), (1, 8, 8)),
        ((3, 4, 4), (3, 4, 4)),
        ((5, 5), (1, 5, 5)),
        ((2,), None),
        ((7, 4, 4), None),
        ((9, 1), None),
    ],
)
def test_which_events_are_images(event, form):
    assert image_shape(event) == form


@pytest.mark.parametrize(
    ("event", "names"),
    [
        ((1,), ["density", "energy", "energies"]),
        ((5,), ["data", "samples", "marginals", "energies"]),
        ((1, 6, 6), ["data", "samples", "neighbours", "energies"]),
        ((3, 4, 4), ["data", "samples", "neighbours", "energies"]),
    ],
)
def test_models_beyond_the_plane_have_pictures_too(event, names):
    view = view_by_hand(event)
    picture = imread(io.BytesIO(draw_summary(view)))[::5, ::5]
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20
    assert [panel.name for panel in offered_panels(view)] == names
