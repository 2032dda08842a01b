"""Samples during training: made where the report shows them, at a bounded cost."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ebmkit import load_spec
from ebmkit.chains.context import StepContext
from ebmkit.chains.energy import Energy
from ebmkit.engine import session
from ebmkit.engine.build import build
from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.previews import FRACTION, IMAGES, POINTS, SETS, plan_previews, preview_cost, training_cost
from ebmkit.engine.telling.run_log import describe

#: A packaged spec, changes, and the number of its training points.
CASES = {
    "quickstart": ("quickstart", [], 10_000),
    "replay": ("gallery/adaptive-k1-mle", [], 10_000),
    "images": ("gallery/contrastive-divergence-digits", [], 1500),
    "labels": ("gallery/jem-digits", [], 1500),
    "scores": ("gallery/vp-two-moons", [], 10_000),
    "levels": ("gallery/ncsn-two-moons", [], 10_000),
    "hmc": ("quickstart", ["sampler={use: hmc, steps: 30, leapfrog_steps: 20}"], 10_000),
    "nuts": ("quickstart", ["sampler={use: nuts, max_depth: 6}"], 10_000),
    "tempering": (
        "quickstart",
        ["sampler={use: parallel_tempering, steps: 20, sampler: {use: mala, steps: 5}, temperatures: [1, 4]}"],
        10_000,
    ),
    "long chains": ("quickstart", ["sampler=mala", "chains={count: 4}"], 10_000),
    "few points": ("quickstart", ["data.size=40"], 40),
}


def plan_of(case, steps):
    name, sets, points = CASES[case]
    return load_spec(name, sets=[*sets, f"train.steps={steps}"], unsets=["expect", "evaluate"]), points


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("steps", [1, 50, 3000, 100_000])
def test_they_cost_at_most_a_tenth_of_the_training(case, steps):
    plan, points = plan_of(case, steps)
    previews = plan_previews(plan, points)
    cost = len(previews.steps) * preview_cost(plan, previews.samples)
    assert cost <= FRACTION * training_cost(plan, points)
    assert len(previews.steps) <= SETS
    assert all(0 < step < steps for step in previews.steps)
    if previews.steps:
        fewest, most = POINTS if plan.event == (2,) else IMAGES
        assert fewest <= previews.samples <= most
    else:
        assert ("samples_every: N" in previews.reason) == (steps > 1)  # one step leaves none before the last


def test_they_become_smaller_before_they_become_fewer_and_none_is_the_last_resort():
    found = [plan_previews(*plan_of("quickstart", steps)) for steps in (100_000, 12_000, 3000, 1200, 500)]
    assert [(len(one.steps), one.samples) for one in found] == [(9, 500), (9, 155), (3, 91), (1, 129), (0, 0)]
    assert sorted(found[2].steps) == [750, 1500, 2250]


def spec(tmp_path, columns, **changes):
    """A training on a file with this many columns, long enough for previews."""
    path = tmp_path / f"points{columns}.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(200, columns)).astype(np.float32))
    return {
        "ebmkit": 1,
        "name": "seen",
        "device": "cpu",
        "data": {"use": "npz", "path": str(path)},
        "model": {"use": "mlp", "hidden": [4]},
        "objective": "nce",
        "train": {"steps": 100, "batch_size": 64},
        "sampler": {"use": "langevin", "steps": 3},
        "samples": 80,
        **changes,
    }


def kept(folder):
    return sorted(int(path.stem.split("-")[1]) for path in folder.glob("samples/step-*.safetensors"))


def test_what_no_panel_shows_is_not_made_unless_the_spec_says_so(tmp_path):
    """Five coordinates: neither an image nor a plane nor a line."""
    five = spec(tmp_path, 5, sampler="langevin", chains={"count": 2, "burn_in": 0}, samples=10)
    assert kept(session.run(load_spec(five), runs_dir=tmp_path).folder) == []
    asked = session.run(load_spec({**five, "samples_every": 30}), runs_dir=tmp_path)
    assert kept(asked.folder) == [30, 60, 90]


@pytest.mark.parametrize(("columns", "shown"), [(1, True), (2, True), (3, False)])
def test_points_and_a_line_are_shown(tmp_path, columns, shown):
    assert bool(plan_previews(load_spec(spec(tmp_path, columns)), 200).steps) == shown


def test_the_evaluations_that_are_made_are_those_that_were_counted(tmp_path, monkeypatch):
    plan = load_spec(spec(tmp_path, 2))
    rows = {"training": 0, "previews": 0}
    place = "training"
    real = Energy.value_and_grad, Evaluation.look

    def value_and_grad(self, x):
        rows[place] += len(x)
        return real[0](self, x)

    def look(self, step):
        nonlocal place
        place = "previews"
        try:
            return real[1](self, step)
        finally:
            place = "training"

    monkeypatch.setattr(Energy, "value_and_grad", value_and_grad)
    monkeypatch.setattr(Evaluation, "look", look)
    record = session.run(plan, runs_dir=tmp_path)
    previews = plan_previews(plan, 200)
    assert kept(record.folder) == sorted(previews.steps)
    assert rows["previews"] == len(previews.steps) * previews.samples * 3
    assert rows["previews"] <= len(previews.steps) * preview_cost(plan, previews.samples)


def test_they_move_neither_the_training_nor_the_final_samples(tmp_path):
    """With none, with those of `auto` and with one after every step: the same bits."""
    ends = []
    for every in (None, "auto", 1):
        folder = session.run(load_spec(spec(tmp_path, 2, samples_every=every)), runs_dir=tmp_path).folder
        assert len(kept(folder)) == {None: 0, "auto": 5, 1: 99}[every]
        files = [*folder.glob("checkpoints/*/*.safetensors"), folder / "samples/samples.safetensors"]
        ends.append({path.name: path.read_bytes() for path in files})
    assert ends[0] == ends[1] == ends[2]


def test_the_log_says_how_many_there_are_or_why_there_are_none(tmp_path):
    plan = load_spec(spec(tmp_path, 2))
    assert "previews   5 sets of 80 samples during training" in describe(plan, build(plan))
    short = load_spec(spec(tmp_path, 2, train={"steps": 2}))
    (line,) = (line for line in describe(short, build(short)) if line.startswith("previews"))
    assert line.startswith("previews   none: one set would cost more than a tenth of the training")
    one_step = spec(tmp_path, 2, train={"steps": 1})  # there is no step before the last
    for plain in (spec(tmp_path, 2, samples_every=None), spec(tmp_path, 5), one_step):
        plan = load_spec(plain)
        assert not [line for line in describe(plan, build(plan)) if line.startswith("previews")]


def test_of_images_there_are_fewer():
    plan = load_spec("gallery/jem-digits", sets=["train.steps=2000"])
    assert plan_previews(plan, 1500).samples == IMAGES[1]


OBJECTIVES = [
    "nce",
    "{use: nce, noise_ratio: 0.5}",
    "bregman",
    "ranking_nce",
    "conditional_nce",
    "{use: flow_ce, noise: {use: flow, transforms: 1, steps: 2}}",
    "mle",
    "adaptive_nce",
    "{use: adaptive_bregman, generator: kl}",
    "diffusion_recovery",
    "denoising_score_matching",
    "score_matching",
    "sliced_score_matching",
    "stein",
]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_announce_no_more_evaluations_than_they_make(objective):
    """Rows that pass through the network with a gradient of the weights count 1.5, those of chains 1 a step."""
    sets = [f"objective={objective}", "data.size=64"]
    plan = load_spec("quickstart", sets=sets, unsets=["expect", "evaluate"])
    parts, batch, rows = build(plan), 32, []
    weight = next(parts.model.parameters())  # frozen inside chains
    parts.model.register_forward_hook(lambda _, inputs, __: rows.append(len(inputs[0]) * weight.requires_grad))
    context = StepContext(torch.Generator().manual_seed(0), parts.extras, 1)
    assert plan.spec.objective is not None
    torch.autograd.backward(plan.spec.objective.loss(parts.model, parts.train[:batch], context).value)
    chains = sum(len(chain.x) * sampler.steps for sampler, chain in context.chains)
    twice = 5 / 3 if objective == "denoising_score_matching" else 1  # it is differentiated twice
    trained = max(sum(rows), batch)  # some go through the layers themselves
    assert plan.spec.objective.traits().evaluations * batch <= 1.5 * twice * trained + chains
