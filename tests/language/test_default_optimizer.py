"""The optimizer of stages of training that have none."""

import pytest

from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec

SPEC = {"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": "nce", "train": {"steps": 10}}


def rates(**change):
    return [stage.optimizer.lr for stage in load_spec({**SPEC, **change}).spec.stages]


@pytest.mark.parametrize(
    ("model", "rate"),
    [
        ("mlp", 0.003),
        ({"use": "mlp", "hidden": [32, 64]}, 0.003),
        ({"use": "mlp", "hidden": [64, 512]}, 0.00075),
        ({"use": "mlp", "hidden": []}, 0.003),
        ({"use": "gaussian", "mean": [0, 0], "covariance": 1}, 0.01),
        ({"use": "sum", "components": ["mlp", {"use": "mlp", "hidden": [512]}]}, 0.00075),
    ],
    ids=str,
)
def test_the_learning_rate_is_that_of_the_model(model, rate):
    assert rates(model=model) == [pytest.approx(rate)]


def test_networks_of_scores_have_the_same_and_those_of_images_a_smaller_one():
    score = {"model": "mlp_score", "objective": "noise_conditional_score_matching"}
    assert rates(**score) == [pytest.approx(0.003)]
    assert rates(data="digits", model="conv", objective="mle") == [0.001]


def test_objectives_that_reward_curvature_have_smaller_ones():
    for objective in ("score_matching", "sliced_score_matching", "finite_difference_score_matching"):
        assert rates(objective=objective) == [pytest.approx(0.001)]
    for objective in ("conditional_nce", "denoising_score_matching"):
        assert rates(objective=objective) == [pytest.approx(0.003)]


def test_an_optimizer_that_is_written_keeps_its_own_default():
    assert rates(train={"steps": 10, "optimizer": "adam"}) == [0.001]
    assert rates(train=[{"steps": 5, "optimizer": {"use": "adam", "lr": 0.5}}, {"steps": 5}]) == [
        0.5,
        pytest.approx(0.003),
    ]


def test_the_resolved_spec_says_where_it_comes_from_and_gives_the_same_plan():
    plan = load_spec(SPEC)
    assert plan.origins["train", "optimizer", "lr"] == "for model 'mlp' and objective 'nce'"
    assert plan.resolved["train"]["optimizer"]["lr"] == 0.003
    assert load_spec(plan.resolved).hash == plan.hash


PLUGIN = '''
from ebmkit.api import Model, component

@component("mine")
class Mine(Model):
    """E(x) = |x|^2 w."""

    learning_rate = {rate}

    def build(self, event):
        raise AssertionError
'''


@pytest.mark.parametrize("rate", ["0.0", "-1e-3", "float('nan')", "float('inf')", "'fast'", "None"])
def test_a_learning_rate_that_no_optimizer_can_have_is_reported_at_the_model(tmp_path, rate):
    (tmp_path / "own.py").write_text(PLUGIN.format(rate=rate))
    with pytest.raises(Mistakes, match=r"'learning_rate' is .*, but it must be a finite number above 0"):
        load_spec({**SPEC, "model": "own.mine"}, plugins=[str(tmp_path / "own.py")])


def test_the_learning_rate_of_a_plugins_model_is_used(tmp_path):
    (tmp_path / "own.py").write_text(PLUGIN.format(rate="0.02"))
    plan = load_spec({**SPEC, "model": "own.mine"}, plugins=[str(tmp_path / "own.py")])
    assert plan.spec.train.optimizer.lr == 0.02
