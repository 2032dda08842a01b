"""Warnings of training: each for a series that is wrong, none for one that is right, naming what the spec has."""

import math

import pytest

from ebmkit import load_spec
from ebmkit.engine.telling.health import Health

TEXT = """ebmkit: 1
data: two_moons
model: {use: mlp, hidden: [8]}
objective:
  use: mle
  sampler: {use: langevin, steps: 20, step_size: 0.01}
train:
  steps: 100
  optimizer: {use: adam, lr: 1e-3}
"""


def plan_of(tmp_path, text=TEXT):
    file = tmp_path / "spec.yaml"
    file.write_text(text)
    return load_spec(file)


def warnings(plan, name, points, conclude=True):
    said = []
    health = Health(said.append, plan)
    for step, value in enumerate(points, 1):
        health.look(step, {name: value})
    if conclude:
        health.conclude()
    return said


@pytest.mark.parametrize(
    ("name", "fine", "wrong", "words"),
    [
        ("gap", [0.5] * 20 + [-12.0] * 20, [0.5] * 20 + [-500.0] * 20, "have run away from each other (gap -"),
        ("gap", [0.5] * 20 + [-50.0] * 20 + [0.5] * 20, [0.5] * 20 + [-50.0] * 20, "(gap -50, at first 0.5)"),
        ("chain_acceptance", [0.6] * 40, [0.2] * 40, "only 20% of the proposals"),
        ("chain_acceptance", [0.6] * 40, [0.97] * 40, "explores faster"),
        ("v", [0.2] * 20 + [6.0] * 20, [0.2] * 20 + [30.0] * 20, "has grown from 0.2 to 30, so that a step drifts"),
        ("v", [30.0] * 40, [2.0] * 20 + [30.0] * 20, "more than its noise of 0.2"),
        ("buffer_age", [40.0] * 40, [900.0] * 40, "reused only every 900 steps"),
    ],
)
def test_each_is_said_once_and_only_if_there_is_reason(tmp_path, name, fine, wrong, words):
    plan = plan_of(tmp_path)
    assert warnings(plan, name, fine) == []
    (line,) = warnings(plan, name, wrong)
    assert words in line


def test_a_model_in_many_dimensions_may_have_a_large_gradient(tmp_path):
    """In d dimensions v is about sqrt(d) for unit variance, however small it was at first; and energies differ by d."""
    mean = ", ".join(["0"] * 20)
    data = f"{{use: from_model, model: {{use: gaussian, mean: [{mean}]}}}}"
    plan = plan_of(tmp_path, TEXT.replace("two_moons", data))
    assert warnings(plan, "v", [0.1] * 20 + [6.0] * 20) == []
    assert warnings(plan, "gap", [0.1] * 20 + [-20.0] * 20) == []
    assert len(warnings(plan, "v", [0.1] * 20 + [200.0] * 20)) == 1


def test_advice_names_parameters_and_their_lines(tmp_path):
    plan = plan_of(tmp_path)
    (line,) = warnings(plan, "v", [2.0] * 20 + [40.0] * 20)
    assert "a smaller 'step_size' of sampler 'langevin' (objective.sampler.step_size)" in line
    assert "'energy_l2' of objective 'mle'" in line
    (line,) = warnings(plan, "gap", [0.0] * 20 + [900.0] * 20)
    assert "'lr' of optimizer 'adam' (train.optimizer.lr)" in line


def test_a_sampler_without_a_step_size_is_not_advised_to_change_it(tmp_path):
    text = TEXT.replace("langevin, steps: 20, step_size: 0.01", "metropolis, steps: 20")
    plan = plan_of(tmp_path, text)
    (line,) = warnings(plan, "chain_acceptance", [0.1] * 40)
    assert "a smaller 'scale' of sampler 'metropolis'" in line
    (line, _) = warnings(plan, "chain_divergence", [0.1] * 40)
    assert "step_size" not in line


def test_the_steps_of_a_corrected_chain_are_judged_by_its_acceptance(tmp_path):
    plan = plan_of(tmp_path, TEXT.replace("use: langevin", "use: mala"))
    assert warnings(plan, "v", [0.2] * 20 + [300.0] * 20) == []


@pytest.mark.parametrize(
    ("objective", "blind"),
    [
        ("{use: nce, noise_ratio: 1.0}", 2 * math.log(2)),
        ("{use: nce, noise_ratio: 4.0}", math.log(5) + 4 * math.log(1.25)),
        ("{use: ranking_nce, negatives: 8}", math.log(9)),
        ("{use: conditional_nce}", math.log(2)),
    ],
)
def test_a_loss_above_that_of_a_blind_classifier(tmp_path, objective, blind):
    head, tail = TEXT.split("objective:")[0], TEXT[TEXT.index("train:") :]
    plan = plan_of(tmp_path, f"{head}objective: {objective}\n{tail}")
    assert plan.spec.objective.traits().blind_loss == pytest.approx(blind)
    assert warnings(plan, "loss", [9 * blind] * 30 + [0.9 * blind] * 20) == []  # it was learned after all
    (line,) = warnings(plan, "loss", [blind] * 20 + [9 * blind] * 20)
    assert "9 times that of a classifier that cannot tell data from noise" in line
    assert "another 'lr' of optimizer 'adam'" in line


def test_divergences_are_reported_at_the_first_and_summed_up_at_the_end(tmp_path):
    plan, said = plan_of(tmp_path), []
    health = Health(said.append, plan)
    for step, share in ((2, 0.0), (4, 0.5), (5, 0.25)):  # means over two steps, two and one
        health.look(step, {"chain_divergence": share})
    health.conclude()
    assert [line.split(" of the steps")[0] for line in said] == ["step 4: 50.000%", "in all of the training, 25.000%"]
    assert warnings(plan, "chain_divergence", [0.0]) == []
