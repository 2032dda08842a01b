"""Reasons for samples that do not match: each for a run that has it, none for a good run."""

import pytest

from ebmkit import load_spec
from ebmkit.engine.session import run

SPEC = {
    "ebmkit": 1,
    "name": "reasons",
    "device": "cpu",
    "data": {
        "use": "from_model",
        "model": {"use": "gaussian", "mean": [2.0, 0.0], "covariance": [[0.25, 0.0], [0.0, 0.25]]},
        "size": 1000,
        "test_size": 1000,
    },
    "model": {"use": "exponential_family", "statistics": ["linear", "squares"]},
    "objective": "nce",
    "train": {"steps": 300, "batch_size": 128, "optimizer": {"use": "adam", "lr": 0.2}, "final_lr": 1.0},
    "sampler": {"use": "langevin", "steps": 150, "step_size": 0.02},
    "samples": 1000,
    "samples_every": None,
}


def warnings(tmp_path, **change):
    record = run(load_spec({**SPEC, **change}), runs_dir=tmp_path)
    return record.verdict["level"], record.warnings


def test_a_good_run_has_no_warnings(tmp_path):
    assert warnings(tmp_path) == ("match", [])


def test_a_loss_that_never_fell(tmp_path):
    train = {**SPEC["train"], "optimizer": {"use": "adam", "lr": 1e-9}}
    level, said = warnings(tmp_path, train=train)
    assert level == "mismatch"
    (line,) = [line for line in said if "the loss never fell" in line]
    assert "another 'lr' of optimizer 'adam' (" in line


def test_chains_that_have_not_mixed(tmp_path):
    level, said = warnings(tmp_path, sampler={"use": "langevin", "steps": 150, "step_size": 2e-4})
    assert level == "mismatch"
    (line,) = [line for line in said if "the chains have not mixed" in line]
    assert "their mean energy fell by" in line
    assert "a larger 'steps' of sampler 'langevin' (" in line


@pytest.mark.parametrize(("objective", "told"), [("score_matching", True), ("nce", False)])
def test_an_objective_that_does_not_learn_the_weights_of_modes(tmp_path, objective, told):
    sampler = {"use": "langevin", "steps": 150, "step_size": 2e-4}
    level, said = warnings(tmp_path, objective=objective, sampler=sampler)
    assert level == "mismatch"
    assert any("does not learn the weights of separated modes; try objective 'nce'" in line for line in said) == told


@pytest.mark.parametrize("init", ["replay", {"use": "persistent", "chains": 128}])
def test_a_buffer_that_never_left_its_start(tmp_path, init):
    objective = {"use": "mle", "sampler": {"use": "langevin", "steps": 2, "step_size": 1e-6}, "init": init}
    train = {**SPEC["train"], "steps": 60, "optimizer": {"use": "adam", "lr": 0.005}}  # faster, samples are not finite
    level, said = warnings(tmp_path, objective=objective, train=train)
    assert level == "mismatch"
    (line,) = [line for line in said if "never left their start" in line]
    assert "a larger 'step_size' of sampler 'langevin' (" in line
    assert ("a smaller 'size' of init 'replay'" in line) == (init == "replay")
