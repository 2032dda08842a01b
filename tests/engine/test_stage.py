"""A stage of the training has batches of its own."""

import math

import torch

from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
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
    view = assemble(plan, build(plan))
    state = TrainingState(plan, view.parts, view.streams, view.history)
    state.stage, state.stage_began = 1, 2
    stage = Stage(view, state)
    for step in (3, 4, 5):
        points, labels = stage.batch(step), stage.labels(step)
        angle = torch.atan2(points[:, 1], points[:, 0])
        assert torch.equal((angle * 8 / (2 * math.pi)).round().long() % 8, labels)
    assert len(labels.unique()) > 2


def test_a_step_of_a_part_of_the_batch_is_the_step_of_those_points():
    """Which a dry run makes where the whole batch would take long."""
    spec = {
        "ebmkit": 1,
        "device": "cpu",
        "data": {"use": "two_moons", "size": 100, "test_size": 10},
        "model": {"use": "classifier", "classes": 2, "hidden": [4]},
        "objective": {"use": "jem", "weight": 0.0},
        "train": {"steps": 2, "batch_size": 8, "optimizer": {"use": "sgd", "lr": 0.1}},
    }
    plan = load_spec(spec)
    view = assemble(plan, build(plan))
    model, stage = view.parts.model, Stage(view, TrainingState(plan, view.parts, view.streams, view.history))
    loss = torch.nn.functional.cross_entropy(model.logits(stage.batch(1)[:3]), stage.labels(1)[:3])
    slopes = torch.autograd.grad(loss, [*model.parameters()])
    wanted = [p.detach() - 0.1 * slope for p, slope in zip(model.parameters(), slopes, strict=True)]
    assert stage.take_step(1, points=3) == 3
    for parameter, value in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.detach(), value)
    assert stage.take_step(1) == 8
