from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from ebmkit import load_spec
from ebmkit.engine.sampling import view_of
from ebmkit.engine.session import run
from ebmkit.report import images
from ebmkit.report.panels import offered_panels
from ebmkit.report.style import DATA, ENERGY, SAMPLES
from ebmkit.report.summary import draw_summary

SPEC = {
    "ebmkit": 1,
    "name": "picture",
    "device": "cpu",
    "data": {"use": "two_moons", "size": 300, "test_size": 300},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {"use": "mle", "sampler": {"use": "langevin", "steps": 2}},
    "train": {"steps": 10, "batch_size": 32},
    "sampler": {"use": "langevin", "steps": 5},
    "samples": 200,
}


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
    plan = load_spec({**SPEC, "evaluate": ["painter.nothing"]}, plugins=[str(Path(__file__).with_name("painter.py"))])
    record = run(plan, runs_dir=tmp_path)
    assert record.status == "finished"
    assert coloured(imread(record.picture), "#ff0000") > 50_000
    (view,) = sys.modules["ebmkit_plugin_painter"].VIEWS
    names = [panel.name for panel in offered_panels(view)]
    assert names == ["data", "samples", "energy", "training", "energies", "red", "broken"]


def test_drawing_leaves_no_global_figure(tmp_path):
    import matplotlib.pyplot as plt

    draw_summary(view_of(load_spec(SPEC), None, samples=50))
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
    assert images.shape(event) == form


@pytest.mark.parametrize("event", [(1,), (5,), (1, 6, 6), (3, 4, 4)])
def test_models_beyond_the_plane_have_pictures_too(tmp_path, event):
    """Without data of that shape among the built-ins, a view is drawn by hand."""
    from types import SimpleNamespace

    rng = torch.Generator().manual_seed(0)
    plan = load_spec({**SPEC, "evaluate": []})
    view = SimpleNamespace(
        plan=plan,
        event=event,
        step=0,
        results={},
        history=SimpleNamespace(series={}),
        can_sample=True,
        has_energy=True,
        data=lambda split: torch.rand(100, *event, generator=rng),
        samples=lambda n: torch.rand(n, *event, generator=rng),
        energy=lambda x: x.flatten(1).sum(1),
    )
    picture = imread(io.BytesIO(draw_summary(view)))[::5, ::5]
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20
    names = [panel.name for panel in offered_panels(view)]
    assert names == (["data", "samples", "energies"] if len(event) == 3 else ["energies"])
