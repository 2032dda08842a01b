"""A stage of the training has batches of its own."""

import math

import torch

from ebmkit.engine.build import build
from ebmkit.engine.folder.history import History
from ebmkit.engine.rng import Streams
from ebmkit.engine.run_view import RunView
from ebmkit.engine.stage import Stage
from ebmkit.engine.training_state import TrainingState
from ebmkit.language.load import load_spec

CPU = torch.device("cpu")


def test_a_later_stage_has_the_labels_of_its_own_batches():
    """On a circle a point tells its label, by the angle."""
    spec = {
        "ebmkit": 1,
        "device": "cpu",
        "data": {"use": "eight_gaussians", "noise": 0.01, "size": 100, "test_size": 10},
        "model": {"use": "classifier", "classes": 8, "hidden": [4]},
        "objective": "jem",
        "train": [{"steps": 2, "batch_size": 8}, {"steps": 3, "batch_size": 8}],
    }
    plan = load_spec(spec)
    parts, streams = build(plan), Streams(0, CPU)
    history = History(1, lambda *_: None, lambda statistic, *_: AssertionError(statistic.name), lag=0)
    state = TrainingState(plan, parts, streams, history)
    state.stage, state.stage_began = 1, 2
    stage = Stage(RunView(plan, parts, streams, history, None), state)
    for step in (3, 4, 5):
        points, labels = stage.batch(step), stage.labels(step)
        angle = torch.atan2(points[:, 1], points[:, 0])
        assert torch.equal((angle * 8 / (2 * math.pi)).round().long() % 8, labels)
    assert len(labels.unique()) > 2
