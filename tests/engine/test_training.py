"""Stages, early stop, clipping, limits, precision: what `train:` and the sections around it promise."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from ebmkit.engine.dry_run import dry_run
from ebmkit.engine.folder.history import History
from ebmkit.engine.limit import Limit
from ebmkit.engine.statistic import Statistic
from tests.drawn import resume, run

pytestmark = pytest.mark.usefixtures("undrawn")


def last_checkpoint(record):
    return sorted((record.folder / "checkpoints").iterdir())[-1]


def series(record, name):
    lines = [json.loads(line) for line in (record.folder / "metrics.jsonl").read_text().splitlines()]
    return [(line["step"], line[name]) for line in lines if name in line]


def test_stages_follow_each_other_with_optimizers_of_their_own(small, plan_of, tmp_path):
    first = {"steps": 6, "batch_size": 32, "optimizer": {"use": "adam", "lr": 0.01}}
    second = {"steps": 5, "batch_size": 16, "optimizer": {"use": "sgd", "lr": 0.1, "momentum": 0.9}}
    small["train"] = [first, second]
    staged = run(plan_of(small), runs_dir=tmp_path)
    assert last_checkpoint(staged).name == "step-000011"
    assert {name.split(".")[1] for name in load_file(last_checkpoint(staged) / "optimizer.safetensors")} == {
        "momentum_buffer"
    }
    small["train"] = first
    alone = run(plan_of(small), runs_dir=tmp_path)
    assert series(alone, "loss") == series(staged, "loss")[:6]


def test_every_way_to_break_stages_apart_ends_in_the_same_bits(small, plan_of, tmp_path):
    small["train"] = [{"steps": 5, "batch_size": 32, "ema": 0.9}, {"steps": 4, "batch_size": 16, "warmup": 2}]
    plan = plan_of(small)
    whole = run(plan, runs_dir=tmp_path)
    for steps in (1, 4, 5, 6, 8):
        record = run(plan, runs_dir=tmp_path, limit=Limit(steps=steps))
        assert (record.status, record.step) == ("paused", steps)
        again = resume(plan, record.folder)
        assert again.status == "finished"
        for path in last_checkpoint(whole).iterdir():
            assert path.read_bytes() == (last_checkpoint(again) / path.name).read_bytes(), (steps, path.name)


def test_a_metric_that_stops_improving_ends_the_stage(small, plan_of, tmp_path):
    """`draws` measures a constant, so the first value stays the best."""
    small["evaluate"] = [{"use": "faulty.draws", "every": 2}]
    small["train"] |= {"steps": 100, "stop": {"metric": "draws", "patience": 3}}
    plan = plan_of(small)
    record = run(plan, runs_dir=tmp_path)
    assert record.step == 8
    paused = run(plan, runs_dir=tmp_path, limit=Limit(steps=7))
    assert resume(plan, paused.folder).step == 8


def test_a_gradient_is_never_longer_than_the_spec_allows(small, plan_of, tmp_path):
    """With plain SGD the first step is the learning rate times the clipped gradient."""
    small["train"] = {"steps": 1, "batch_size": 32, "optimizer": {"use": "sgd", "lr": 1.0}, "clip_gradient": 1e-3}
    plan = plan_of(small)
    from ebmkit.engine.build import build

    parts = build(plan)
    before = {f"model.{name}": value for name, value in parts.model.state_dict().items()}
    before |= {f"extras.{name}": value for name, value in parts.extras.state_dict().items()}
    folder = last_checkpoint(run(plan, runs_dir=tmp_path))
    after = {
        f"{part}.{name}": value
        for part in ("model", "extras")
        for name, value in load_file(folder / f"{part}.safetensors").items()
    }
    moved = torch.cat([(after[name] - value).double().flatten() for name, value in before.items()])
    assert moved.norm().item() == pytest.approx(1e-3, rel=1e-3)


def test_precision_is_that_of_the_spec(small, plan_of, tmp_path):
    small["dtype"] = "float64"
    record = run(plan_of(small), runs_dir=tmp_path)
    assert {value.dtype for value in load_file(last_checkpoint(record) / "model.safetensors").values()} == {
        torch.float64
    }
    assert load_file(record.folder / "samples/samples.safetensors")["x"].dtype == torch.float64


def test_checkpoints_come_when_asked_and_the_old_ones_go(small, plan_of, tmp_path):
    small["checkpoint"] = {"every": 3, "keep": 3}
    record = run(plan_of(small), runs_dir=tmp_path)
    found = sorted(path.name for path in (record.folder / "checkpoints").iterdir())
    assert found == ["step-000015", "step-000018", "step-000020"]


def test_saving_oftener_or_looking_oftener_changes_no_bit(small, plan_of, tmp_path):
    plain = run(plan_of(small), runs_dir=tmp_path)
    small |= {"checkpoint": {"every": 1, "keep": 1}, "samples_every": 1}
    busy = run(plan_of(small), runs_dir=tmp_path)
    for name in ("model", "mean", "extras", "optimizer", "random"):
        one, other = (last_checkpoint(record) / f"{name}.safetensors" for record in (plain, busy))
        assert one.read_bytes() == other.read_bytes()
    assert (plain.folder / "metrics.jsonl").read_bytes() == (busy.folder / "metrics.jsonl").read_bytes()


def test_a_rehearsal_tries_everything_and_writes_nothing(small, plan_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small["train"] = [small["train"], {"steps": 3, "batch_size": 8}]
    rehearsal = dry_run(plan_of(small))
    assert len(rehearsal.steps) == 2
    assert rehearsal.seconds == pytest.approx(20 * rehearsal.steps[0] + 3 * rehearsal.steps[1])
    assert "nothing was written" in rehearsal.as_text()
    assert json.loads(rehearsal.as_json())["plan"]
    assert not list(tmp_path.iterdir())


def test_numbers_on_a_slow_device_are_read_one_step_later():
    found = []

    def explain(statistic, value, step):
        found.append((statistic.name, step))
        return ArithmeticError(statistic.name)

    history = History(10, lambda step, values: None, explain, lag=1)
    loss = [Statistic("loss", ("objective",))]
    history.add(1, loss, torch.tensor([float("nan")]))
    assert not found
    with pytest.raises(ArithmeticError):
        history.add(2, loss, torch.tensor([1.0]))
    assert found == [("loss", 1)]


@pytest.mark.parametrize("optimizer", ["adam", "nadam", "asgd", "rprop", "adadelta", "radam"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_optimizers_go_on_bit_for_bit(small, plan_of, tmp_path, optimizer, dtype):
    small |= {"dtype": dtype, "samples_every": None}
    small["train"] |= {"steps": 6, "optimizer": optimizer, "final_lr": 1.0}
    plan = plan_of(small)
    whole = run(plan, runs_dir=tmp_path)
    again = resume(plan, run(plan, runs_dir=tmp_path, limit=Limit(steps=3)).folder)
    for name in ("model", "optimizer"):
        one, other = (last_checkpoint(record) / f"{name}.safetensors" for record in (whole, again))
        assert one.read_bytes() == other.read_bytes()


def test_a_short_gradient_is_left_as_it_is(small, plan_of, tmp_path):
    free = run(plan_of(small), runs_dir=tmp_path)
    small["train"]["clip_gradient"] = 1e6
    bounded = run(plan_of(small), runs_dir=tmp_path)
    one, other = (last_checkpoint(record) / "model.safetensors" for record in (free, bounded))
    assert one.read_bytes() == other.read_bytes()


def test_a_stage_counts_its_own_steps(small, plan_of, tmp_path, monkeypatch):
    from ebmkit.engine.batches import Batches
    from ebmkit.engine.learning_rate import LearningRate

    asked = []
    at, rate = Batches.at, LearningRate.set
    monkeypatch.setattr(Batches, "at", lambda self, step: (asked.append((self.path, step)), at(self, step))[1])
    monkeypatch.setattr(LearningRate, "set", lambda self, step: (asked.append(("rate", step)), rate(self, step))[1])
    small["train"] = [{"steps": 2, "batch_size": 32}, {"steps": 2, "batch_size": 16}]
    run(plan_of(small), runs_dir=tmp_path)
    first = [("train", 1), ("rate", 1), ("train", 2), ("rate", 2)]
    assert asked == [*first, ("train/1", 1), ("rate", 1), ("train/1", 2), ("rate", 2)]


@pytest.mark.parametrize(
    ("better", "values", "over"),
    [
        ("lower", [3.0, 2.0, 2.5, 2.5], True),
        ("lower", [3.0, 2.0, 2.5], False),
        ("higher", [3.0, 2.0, 2.5], True),
        ("higher", [3.0, 2.0, 3.5, 3.0], False),
    ],
)
def test_the_best_of_a_stage_is_the_lowest_or_the_highest_of_its_own(better, values, over):
    from types import SimpleNamespace

    from ebmkit.engine.stage import Stage
    from ebmkit.language.sections import EarlyStop, Train

    stage = Stage.__new__(Stage)
    stage.section = Train(steps=100, stop=EarlyStop(metric="m", patience=2, better=better))
    # What an earlier stage measured, up to the step behind which this one began, does not count.
    series = {"m": [(5, 0.0), (10, 9.0), *((10 + n, value) for n, value in enumerate(values, 1))]}
    stage.state = SimpleNamespace(step=20, stage_began=10, history=SimpleNamespace(series=series))
    assert stage.is_over() is over


def test_checkpoints_by_the_clock_are_a_minute_apart_and_rarer_where_saving_is_slow(monkeypatch, tmp_path, unhurried):
    from types import SimpleNamespace

    from ebmkit.engine.folder import checkpointer

    clock, saves = [0.0], []

    def save(checkpoints, experiment, saved):
        saves.append(clock[0])
        clock[0] += 6.0  # so slow that a fiftieth of the time is five minutes
        return checkpoints

    monkeypatch.setattr(checkpointer, "SECONDS", unhurried)
    monkeypatch.setattr(checkpointer.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpointer.checkpoint, "save", save)
    section = SimpleNamespace(every="auto", keep=2)
    plan = SimpleNamespace(spec=SimpleNamespace(checkpoint=section), hash="")
    told = []
    kept = checkpointer.Checkpointer(
        SimpleNamespace(plan=plan, save=dict, step=1), tmp_path, lambda: told.append(0), told.append
    )
    while clock[0] < 700:
        kept.at(1)
        clock[0] += 1.0
    assert saves == [60.0, 366.0, 672.0]
    assert told == [0, tmp_path] * 3
