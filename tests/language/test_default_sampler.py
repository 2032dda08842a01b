from __future__ import annotations

import numpy as np
import pytest

from ebmkit import load_spec
from ebmkit.engine.telling.chain_words import chain_words

TRAINED = {"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": "nce", "train": {"steps": 1}}
VE = {"use": "ve", "sigma_max": 5.0}
CASES = {
    "mixed_mala": {},
    "mala": {"objective": "score_matching"},
    "reverse_sde": {
        "model": {"use": "mlp_score", "schedule": VE},
        "objective": {"use": "sde_score_matching", "schedule": VE},
    },
    "annealed_langevin": {
        "model": {"use": "mlp_score", "schedule": "geometric"},
        "objective": {"use": "noise_conditional_score_matching", "schedule": "geometric"},
    },
    "gibbs": {
        "data": {"use": "from_model", "model": {"use": "ising", "shape": [4], "values": "spin"}},
        "model": {"use": "boltzmann", "values": "spin"},
        "objective": "exact_mle",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_trained_model_is_sampled_although_nothing_says_how(name):
    plan = load_spec({**TRAINED, **CASES[name]})
    assert plan.resolved["sampler"]["use"] == name
    assert "has no sampler" in str(plan.origins["sampler", "use"])
    assert plan.place(("sampler",)) == plan.place(("objective",))
    assert plan.resolved["sampler"].get("predict") is (True if name == "annealed_langevin" else None)
    if plan.spec.model.schedule:
        assert plan.spec.sampler.traits().schedule == plan.spec.model.schedule


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({}, "mixed_mala"),
        ({"scale": "standardize"}, "mixed_mala"),
        ({"scale": "none"}, "mala"),
        ({"scale": "range"}, "mala"),
    ],
    ids=str,
)
def test_steps_that_suit_unit_scale_are_for_points_of_unit_scale(tmp_path, change, name):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).normal(50, 9, (40, 2)))
    data = {"use": "tensor_file", "path": str(tmp_path / "points.npy")}
    assert load_spec({**TRAINED, "data": data, **change}).chain_sampler.component_name == name


def test_nothing_is_sampled_that_is_not_trained():
    plan = load_spec({"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}}, idle=True)
    assert plan.chain_sampler is None


def test_steps_are_tuned_to_trained_models_only():
    local = load_spec({**TRAINED, "objective": "score_matching"}).spec
    assert local.tuning_steps == 200
    assert load_spec(TRAINED).spec.tuning_steps == 0  # steps of all sizes need no tuning
    assert load_spec({**TRAINED, "sampler": "langevin"}).spec.tuning_steps == 0  # which has no acceptance to tune
    assert load_spec({**TRAINED, "sampler": {"use": "hmc", "steps": 31}}).spec.tuning_steps == 15
    assert load_spec({**TRAINED, "sampler": "mala", "chains": {"count": 2}}).spec.tuning_steps == 0
    known = {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}, "sampler": "mala"}
    assert load_spec(known).spec.tuning_steps == 0
    assert chain_words(local).endswith("of 400 steps from noise, of which 200 tune it")
