"""Defaults of an objective that depend on the model that it trains."""

from __future__ import annotations

import pytest

from ebmkit import load_spec
from ebmkit.components.objectives.chains_of_training import ON_UNITS

RBM = {"ebmkit": 1, "data": {"use": "digits", "binarize": "binary"}, "model": {"use": "rbm", "hidden": 8}}
TRAIN = {"train": {"steps": 10}}


@pytest.mark.parametrize("objective", ["mle", "adaptive_nce", "adaptive_bregman"])
def test_chains_on_units_are_drawn(objective):
    plan = load_spec({**RBM, **TRAIN, "objective": objective})
    assert plan.spec.objective.sampler == ON_UNITS
    assert plan.origins["objective", "sampler", "use"] == "for model 'rbm'"
    assert plan.resolved["sampler"]["use"] == "gibbs"


@pytest.mark.parametrize("objective", ["mle", "score_matching"])
def test_a_model_that_draws_real_units_exactly_needs_no_step_size(objective):
    model = {"use": "gaussian_rbm", "hidden": 4}
    plan = load_spec({"ebmkit": 1, "data": "two_moons", "model": model, "objective": objective, **TRAIN})
    assert plan.resolved["sampler"]["use"] == "gibbs"


def test_what_the_spec_gives_stays():
    given = {"use": "mle", "sampler": {"use": "gibbs_with_gradients", "steps": 7}}
    plan = load_spec({**RBM, **TRAIN, "objective": given})
    assert plan.resolved["objective"]["sampler"]["use"] == "gibbs_with_gradients"
    points = load_spec({"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": "mle", **TRAIN})
    assert points.resolved["objective"]["sampler"]["use"] == "mixed_mala"
    assert points.origins["objective", "sampler", "use"] == "default of objective 'mle'"


def test_objectives_of_stages_suit_the_parts_that_they_train():
    stages = [{"part": 1, "steps": 5}, {"part": 2, "steps": 5, "objective": "mle"}]
    plan = load_spec({**RBM, "model": {"use": "dbn", "hidden": [4, 4]}, "objective": "mle", "train": stages})
    assert plan.spec.objective.sampler == plan.spec.stages[1].objective.sampler == ON_UNITS
    assert plan.origins["train", 1, "objective", "sampler", "steps"] == "for model 'rbm'"


def test_a_resolved_spec_resolves_to_itself():
    spec = {**RBM, **TRAIN, "objective": "mle"}
    assert load_spec(load_spec(spec).resolved).hash == load_spec(spec).hash
