from __future__ import annotations

import pytest

from ebmkit import load_spec
from ebmkit.engine.telling.chain_words import chain_words

TRAINED = {"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": "nce", "train": {"steps": 1}}
VE = {"use": "ve", "sigma_max": 5.0}
CASES = {
    "mala": {},
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
    if plan.spec.model.schedule:
        assert plan.spec.sampler.traits().schedule == plan.spec.model.schedule


def test_nothing_is_sampled_that_is_not_trained():
    plan = load_spec({"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}}, idle=True)
    assert plan.chain_sampler is None


def test_steps_are_tuned_to_trained_models_only():
    assert load_spec(TRAINED).spec.tuning_steps == 200
    assert load_spec({**TRAINED, "sampler": "langevin"}).spec.tuning_steps == 0  # which has no acceptance to tune
    assert load_spec({**TRAINED, "sampler": {"use": "hmc", "steps": 31}}).spec.tuning_steps == 15
    assert load_spec({**TRAINED, "sampler": "mala", "chains": {"count": 2}}).spec.tuning_steps == 0
    known = {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}, "sampler": "mala"}
    assert load_spec(known).spec.tuning_steps == 0
    assert chain_words(load_spec(TRAINED).spec).endswith("of 400 steps from noise, of which 200 tune it")
