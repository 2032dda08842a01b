"""The verdict is a metric of every spec with data and a sampler, listed or not."""

import pytest

from ebmkit import load_spec
from ebmkit.errors.base import Mistakes
from ebmkit.language.plan import resolved_yaml

SPEC = {
    "ebmkit": 1,
    "name": "judged",
    "data": "two_moons",
    "model": "mlp",
    "objective": "nce",
    "train": {"steps": 10},
    "sampler": "langevin",
    "samples": 300,
}


def names(plan):
    return [metric.component_name for metric in plan.spec.evaluate]


def test_it_is_added_with_its_reason_and_can_be_expected():
    plan = load_spec({**SPEC, "evaluate": ["mmd"], "expect": [{"metric": "verdict", "below": 2}]})
    assert names(plan) == ["mmd", "verdict"]
    assert plan.spec.evaluate[1].samples == 300
    text = resolved_yaml(plan)
    assert "# every run with data and a sampler is judged" in text


def test_a_resolved_spec_is_the_same_experiment(tmp_path):
    plan = load_spec(SPEC)
    file = tmp_path / "resolved.yaml"
    file.write_text(resolved_yaml(plan))
    again = load_spec(file)
    assert (names(again), again.hash) == (["verdict"], plan.hash)


def test_one_that_is_listed_is_not_added_again():
    plan = load_spec({**SPEC, "evaluate": [{"use": "verdict", "samples": 50, "every": 5}, "mmd"]})
    assert names(plan) == ["verdict", "mmd"]
    assert plan.spec.evaluate[0].samples == 50


def test_a_trained_model_without_a_sampler_is_sampled_and_judged():
    assert names(load_spec({name: value for name, value in SPEC.items() if name != "sampler"})) == ["verdict"]


def test_without_data_there_is_none():
    spec = {"ebmkit": 1, "name": "alone", "model": {"use": "gaussian", "mean": [0.0]}, "sampler": "exact"}
    assert names(load_spec(spec)) == []
    with pytest.raises(Mistakes, match="no metric reports 'verdict'"):
        load_spec({**spec, "expect": [{"metric": "verdict", "below": 2}]})


def test_one_held_out_point_is_too_few():
    plan = load_spec({**SPEC, "data": {"use": "two_moons", "test_size": 1}})
    assert names(plan) == []
