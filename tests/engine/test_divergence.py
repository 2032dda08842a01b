"""Runs that diverge, each provoked in one way: the explanation names what was provoked, with its line."""

import numpy as np
import pytest

from ebmkit.engine import session
from ebmkit.errors.running import Diverged
from ebmkit.language.load import load_spec

SPEC = {
    "ebmkit": 1,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 200, "test_size": 50},
    "model": {"use": "mlp", "hidden": [16, 16]},
    "objective": "mle",
    "train": {"steps": 100, "batch_size": 32},
    "samples": 50,
    "samples_every": None,
}
PLUGIN = '''
from ebmkit.api import Loss, Model, Objective, component, torch

@component("overflow")
class Overflow(Objective):
    """A loss beyond the range of float32 and bfloat16, with gradients that are not."""

    needs = frozenset({"energy"})

    def loss(self, model, batch, context):
        energy = model(batch).mean()
        return Loss(energy, {"huge": (energy.detach() * 0 + 100).exp()})

@component("undefined")
class Undefined(Objective):
    """The gradient of a square root at zero."""

    needs = frozenset({"energy"})

    def loss(self, model, batch, context):
        return Loss((model(batch).mean() * 0).sqrt(), {})
'''


def langevin(**parameters):
    return {"use": "langevin", "steps": 20, **parameters}


def optimized(use, lr, **sections):
    return {"train": {"steps": 100, "batch_size": 32, "optimizer": {"use": use, "lr": lr}}, **sections}


@pytest.fixture
def explained(tmp_path, monkeypatch):
    """The error of a run: its message, its help, and the line that it points to."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(200, 2))
    for scale in (1e12, 1e25):
        np.savez(f"{scale:g}.npz", x=(x * scale).astype(np.float32))
    (tmp_path / "mine.py").write_text(PLUGIN)

    def explained(changes):
        with pytest.raises(Diverged) as caught:
            session.run(load_spec({**SPEC, **changes}, plugins="mine.py"))
        error = caught.value
        return error, error.other.source.line(error.other.line).strip() if error.other else ""

    return explained


@pytest.mark.parametrize(
    ("changes", "lr"),
    [
        (optimized("adam", 1e6), "1000000.0"),
        (optimized("adam", 1e6, dtype="bfloat16"), "1000000.0"),
        (optimized("sgd", 1e6), "1000000.0"),
        (optimized("adamw", 1e7, objective="nce"), "10000000.0"),
        (optimized("rmsprop", 1e9, objective="denoising_score_matching"), "1000000000.0"),
        (optimized("sgd", 3.0, objective="sliced_score_matching"), "3.0"),
    ],
    ids=["adam", "bfloat16", "sgd", "adamw", "rmsprop", "moderate"],
)
def test_a_learning_rate_that_is_too_large_is_named(explained, changes, lr):
    error, line = explained(changes)
    assert line == f"lr: {lr}"
    assert "times the default" in error.other_label
    assert "the weights have grown" in error.help
    assert "use a smaller learning rate" in error.help


@pytest.mark.parametrize(
    ("sampler", "name"),
    [
        (langevin(step_size=1e6), "step_size"),
        (langevin(step_size=1e20), "step_size"),
        (langevin(noise_std=1e30), "noise_std"),
        ({"use": "underdamped_langevin", "steps": 20, "step_size": 1e8}, "step_size"),
    ],
)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_steps_of_chains_that_are_too_long_are_named(explained, sampler, name, optimizer):
    error, line = explained(optimized(optimizer, 0.001, objective={"use": "mle", "sampler": sampler}))
    assert line.startswith(f"{name}: ")
    assert f"use a smaller '{name}'" in error.help
    assert "learning rate" not in error.help


@pytest.mark.parametrize("objective", ["mle", "nce"])
def test_data_of_an_unusual_size_are_named(explained, objective):
    error, line = explained({"data": {"use": "npz", "path": "1e+25.npz"}, "objective": objective, "scale": "none"})
    assert line == "use: npz"
    assert "set 'scale: standardize'" in error.help


def test_data_are_to_blame_for_the_weights_that_they_blow_up(explained):
    """Plain gradient descent at its usual rate: the gradients are as large as the data make them."""
    error, _ = explained(optimized("sgd", 0.01, data={"use": "npz", "path": "1e+12.npz"}, scale="none"))
    assert "values up to" in error.help
    assert "learning rate" not in error.help


@pytest.mark.parametrize(("dtype", "other"), [("float32", "float64"), ("bfloat16", "float32")])
def test_the_range_of_the_dtype_is_named_last(explained, dtype, other):
    error, line = explained({"objective": "mine.overflow", "dtype": dtype})
    assert line == f"dtype: {dtype}"
    assert f"try 'dtype: {other}'" in error.help


def test_what_is_of_the_usual_size_is_not_suspected(explained):
    error, _ = explained({"objective": "mine.undefined"})
    assert error.help.startswith("the gradient of '")
    assert error.other is None


def test_samples_that_diverge_after_the_training_are_explained_the_same_way(tmp_path):
    plan = load_spec({**SPEC, "objective": "nce", "train": {"steps": 1}, "sampler": langevin(step_size=1e9)})
    error = session.run(plan, runs_dir=tmp_path).failed[0].error
    assert "use a smaller 'step_size'" in error.help
    assert error.other.source.line(error.other.line).strip() == "step_size: 1000000000.0"


def test_a_second_stage_is_named_by_its_own_rate(explained):
    stages = [{"steps": 3, "batch_size": 32}, {"steps": 50, "batch_size": 32, "optimizer": {"use": "adam", "lr": 1e9}}]
    error, line = explained({"objective": "score_matching", "train": stages})
    assert line == "lr: 1000000000.0"
    assert "learning rate" in error.help
