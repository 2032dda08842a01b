"""The originals of the papers: too large for this machine, and still right, and tried wherever one is."""

import itertools
import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import ebmkit
from ebmkit.cli import group
from ebmkit.components.data import cifar10
from ebmkit.components.objectives.noise_conditional_score_matching import NoiseConditionalScoreMatching
from ebmkit.engine import dry_run as rehearsal

SPECS = Path(__file__).parents[2] / "specs/paper"
PAPER = sorted(SPECS.glob("*.yaml"))
#: Their networks, made small enough for a test.
SMALL = ["model.channels=8", "model.multipliers=[1,2]", "model.blocks=1", "train.batch_size=8", "threads=1"]

#: A spec that has labels.
LABELLED = """
ebmkit: 1
threads: 1
parts: {noise: vp}
data: cifar10
model: {use: unet_score, schedule: $noise, channels: 8, classes: 10}
objective: {use: sde_score_matching, schedule: $noise}
train: {steps: 10, batch_size: 4}
sampler: {use: reverse_sde, schedule: $noise}
"""

each = pytest.mark.parametrize("spec", PAPER, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(*words):
    return CliRunner().invoke(group, list(map(str, words)))


def dry_run(spec, sets=(), *words):
    return call("run", spec, "--dry-run", *words, *(word for value in sets for word in ("--set", value)))


@each
def test_a_spec_says_whose_it_is_and_is_valid_where_its_data_are_not(spec):
    assert spec.read_text().startswith("# The original (")
    assert call("validate", spec).exit_code == 0
    assert ebmkit.load_spec(spec).spec.data.missing()


@each
def test_it_has_the_published_settings_in_our_units(spec):
    plan = ebmkit.load_spec(spec).spec
    schedule, sampler, (stage,) = plan.model.schedule, plan.sampler, plan.stages
    # Pixels have twice the range of those in the paper.
    sigmas = torch.logspace(0, -2, 10, dtype=torch.float64)
    assert torch.allclose(schedule.levels(), 2 * sigmas, rtol=1e-12)
    # x + alpha / 2 s + sqrt(alpha) z with alpha = 2e-5 sigma^2 / 0.01^2; of lengths twice as large, squares are four.
    assert sampler.step_size == pytest.approx(4 * 2e-5, rel=1e-12)  # their code is x + step s + sqrt(2 step) z, as ours
    assert (sampler.steps_per_level, sampler.denoise, sampler.schedule) == (100, False, schedule)
    assert (stage.steps, stage.batch_size, stage.optimizer.lr, stage.ema) == (200_000, 128, 1e-3, 0)
    assert (plan.objective.power, plan.objective.schedule) == (2, schedule)
    assert plan.data.dequantize


@each
def test_a_small_one_is_rehearsed_with_points_that_are_made_up_and_says_so(spec, tmp_path):
    result = dry_run(spec, SMALL)
    assert result.exit_code == 0, result.output
    assert "random points of shape 3 x 32 x 32 stand in" in result.output
    assert "a run needs the data" in result.output
    assert "https://" in result.output
    told = json.loads(dry_run(spec, SMALL, "--json").output)
    assert "stand in" in told["made_up"]
    assert "https://" in told["origin"]
    assert not list(tmp_path.iterdir())


def test_a_batch_that_takes_too_long_is_tried_by_a_part_of_it(monkeypatch):
    """The times are those of a clock that goes on by a second whenever somebody looks at it."""
    seen = []
    clock = itertools.count()
    monkeypatch.setattr(rehearsal.time, "perf_counter", lambda: float(next(clock)))
    loss = NoiseConditionalScoreMatching.loss
    monkeypatch.setattr(NoiseConditionalScoreMatching, "loss", lambda *them: seen.append(len(them[2])) or loss(*them))
    plan = ebmkit.load_spec(SPECS / "ncsn-cifar10.yaml", sets=[*SMALL, "train.batch_size=20"])
    found = rehearsal.dry_run(plan)
    assert seen == [5, 20]  # 5 images are no more than 2^14 numbers; a second for them, so 4 for all
    assert found.steps == [1.0]
    monkeypatch.setattr(rehearsal, "PATIENCE", 4.0)
    found = rehearsal.dry_run(plan)
    assert seen == [5, 20, 5, 5]
    assert found.steps == [4.0]
    assert found.seconds == 4.0 * 200_000


@pytest.mark.long
@each
def test_it_is_rehearsed_as_it_is(spec):
    result = dry_run(spec, ["threads=1"])
    assert result.exit_code == 0, result.output
    assert "work together" in result.output


@each
def test_a_run_without_data_is_refused_with_words(spec, tmp_path):
    result = call("run", spec)
    assert result.exit_code == 2
    assert "E210" in result.output
    assert "there is no file" in result.output
    assert "https://" in result.output
    assert not list(tmp_path.iterdir())


def test_labels_are_made_up_too(tmp_path):
    path = tmp_path / "labelled.yaml"
    path.write_text(LABELLED)
    result = dry_run(path)
    assert result.exit_code == 0, result.output


def test_data_that_are_here_are_used_in_a_rehearsal(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar10, "IMAGES", 3)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for n, file in enumerate(cifar10.Cifar10().files()):
        file.write_bytes(bytes(((n + k) % 10 if k % 3073 == 0 else (7 * n + k) % 256) for k in range(3 * 3073)))
    result = dry_run(SPECS / "ncsn-cifar10.yaml", SMALL)
    assert result.exit_code == 0, result.output
    assert "15 training and 3 held-out points" in result.output
    assert "stand in" not in result.output
    # One that is missing is enough to make all of them up, and one that is damaged is refused.
    (folder / "test_batch.bin").unlink()
    assert (
        "no file 'cifar-10-batches-bin/test_batch.bin': random points"
        in dry_run(SPECS / "ncsn-cifar10.yaml", SMALL).output
    )
    (folder / "data_batch_1.bin").write_bytes(b"short")
    result = dry_run(SPECS / "ncsn-cifar10.yaml", SMALL)
    assert result.exit_code == 2
    assert "has 5 bytes" in result.output
