"""Whole runs: what they leave behind, and what they leave alone."""

from __future__ import annotations

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from ebmkit import load_spec
from ebmkit.engine import session
from ebmkit.errors.running import ComponentFailed, Diverged, StorageFailed
from tests.drawn import run

from .conftest import FAULTY

pytestmark = pytest.mark.usefixtures("undrawn")


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def status(runs_dir):
    (path,) = runs_dir.glob("*/*/run.json")
    return json.loads(path.read_text())


def weights(record):
    *_, path = sorted(record.folder.glob("checkpoints/*/mean.safetensors"))
    return path.read_bytes()


def test_the_folder_holds_everything(finished):
    files = {str(path.relative_to(finished.folder)) for path in finished.folder.rglob("*") if path.is_file()}
    parts = ("model", "mean", "extras", "optimizer", "random")
    checkpoint = {f"checkpoints/step-000020/{part}.safetensors" for part in parts}
    previews = {f"samples/step-{step:06d}.safetensors" for step in (8, 16)}
    assert files == checkpoint | previews | {
        ".lock",
        "report.html",
        "checkpoints/step-000020/state.json",
        "samples/traces.safetensors",
        "spec.yaml",
        "resolved.yaml",
        "resolved.json",
        "lock.yaml",
        "run.json",
        "log.txt",
        "metrics.jsonl",
        "checkpoints/step-000020/manifest.json",
        "samples/samples.safetensors",
        "plots/summary.png",
    }
    summary = json.loads((finished.folder / "run.json").read_text())
    assert summary["status"] == "finished"
    assert summary["hash"].startswith(finished.folder.name.rsplit("-", 1)[1])
    assert summary["results"] == finished.results
    assert (finished.folder / "spec.yaml").read_text() == finished.plan.tree.place.source.text
    lock = (finished.folder / "lock.yaml").read_text()
    assert torch.__version__ in lock
    assert "threads: 1" in lock


def test_the_resolved_spec_is_the_same_experiment(finished):
    assert load_spec(finished.folder / "resolved.yaml").hash == finished.plan.hash


def test_metrics_are_measured_on_the_way_and_at_the_end(finished):
    evaluated = [line["step"] for line in lines(finished.folder) if "sliced_wasserstein" in line]
    assert evaluated == [10, 20]
    assert len([line for line in lines(finished.folder) if "loss" in line]) == 20
    assert lines(finished.folder)[-1] == {"step": 20, **finished.results}


def test_a_metric_more_or_an_evaluation_more_moves_no_weight_and_no_other_number(small, plan_of, tmp_path):
    small["evaluate"] = [{"use": "mmd", "samples": 50}]
    alone = run(plan_of(small), runs_dir=tmp_path)
    small["evaluate"] = [{"use": "faulty.draws", "samples": 50, "every": 3}, {"use": "mmd", "samples": 50, "every": 2}]
    together = run(plan_of(small), runs_dir=tmp_path)
    assert weights(alone) == weights(together)
    assert alone.results["mmd"] == together.results["mmd"]


def test_another_seed_gives_other_weights(small, plan_of, tmp_path):
    one = run(plan_of(small), runs_dir=tmp_path)
    small["seed"] = 4
    assert weights(one) != weights(run(plan_of(small), runs_dir=tmp_path))


def test_runs_never_share_a_folder(small, plan_of, tmp_path, monkeypatch):
    import ebmkit.engine.folder.record

    small["train"]["steps"] = 1
    moment = ebmkit.engine.folder.record.datetime.now(ebmkit.engine.folder.record.UTC)

    class Stopped(ebmkit.engine.folder.record.datetime):
        @classmethod
        def now(cls, tz=None):
            return moment

    monkeypatch.setattr(ebmkit.engine.folder.record, "datetime", Stopped)
    folders = [run(plan_of(small), runs_dir=tmp_path).folder.name for _ in range(3)]
    assert folders == [folders[0], f"{folders[0]}-2", f"{folders[0]}-3"]


@pytest.mark.parametrize(("kind", "name"), [("nan", "loss"), ("metric", "energy_data")])
def test_a_number_that_is_not_finite_stops_the_run_and_names_the_step(small, plan_of, tmp_path, diary, kind, name):
    small["objective"] = {"use": "faulty.trouble", "kind": kind, "at": 7}
    small["train"]["steps"] = 2000  # so that a window holds ten steps
    plan = plan_of(small)
    diary().clear()
    with pytest.raises(Diverged) as caught:
        run(plan, runs_dir=tmp_path)
    assert [entry[1] for entry in diary() if entry[0] == "step"] == [1, 2, 3, 4, 5, 6]  # at once
    assert f"objective 'faulty.trouble': {name} became" in caught.value.message
    assert caught.value.message.endswith("at step 7")
    assert "faulty.trouble" in caught.value.place.source.line(caught.value.place.line)
    assert status(tmp_path)["status"] == "diverged"
    assert "at step 7" in status(tmp_path)["error"]


def test_a_metric_during_training_that_is_not_finite_stops_the_run(small, plan_of, tmp_path):
    small["evaluate"] = [{"use": "faulty.infinite", "every": 5}]
    with pytest.raises(Diverged, match=r"metric 'faulty\.infinite': infinite is inf after 5 training steps"):
        run(plan_of(small), runs_dir=tmp_path)
    assert status(tmp_path)["status"] == "diverged"


def test_samples_for_metrics_that_run_away_during_training_are_named(small, plan_of, tmp_path):
    small["sampler"] = {"use": "langevin", "steps": 200, "step_size": 1e6}
    small["evaluate"] = [{"use": "sliced_wasserstein", "samples": 50, "every": 2}]
    with pytest.raises(Diverged, match="sampler 'langevin': 50 of 50 samples are not finite") as caught:
        run(plan_of(small), runs_dir=tmp_path)
    assert "langevin" in caught.value.place.source.line(caught.value.place.line)


def test_a_component_that_raises_is_named_at_its_line(small, plan_of, tmp_path):
    small["objective"] = {"use": "faulty.trouble", "kind": "raise"}
    with pytest.raises(ComponentFailed, match=r"objective 'faulty\.trouble' raised IndexError: out of luck") as caught:
        run(plan_of(small), runs_dir=tmp_path)
    assert isinstance(caught.value.__cause__, IndexError)
    assert "faulty.py:" in caught.value.help
    assert status(tmp_path)["status"] == "failed"


def test_of_components_inside_each_other_the_innermost_is_blamed(small, tmp_path):
    small["objective"] = {"use": "bregman", "noise_ratio": 1.0}
    plan = load_spec(small, sets=["objective.generator=faulty.angry"], plugins=[str(FAULTY)])
    with pytest.raises(ComponentFailed, match=r"bregman 'faulty\.angry' raised ValueError: boom") as caught:
        run(plan, runs_dir=tmp_path)
    assert str(caught.value.place) == "--set[1]:1:21"


def test_a_hook_that_raises_is_muted_and_named_with_its_plugin(small, tmp_path):
    plugin = tmp_path / "touchy.py"
    plugin.write_text(
        "from ebmkit.api import hookimpl\n\n@hookimpl\ndef ebmkit_run_started(view):\n    raise OSError('no')\n"
    )
    plan = load_spec(small, plugins=[str(plugin)])
    record = run(plan, runs_dir=tmp_path)
    assert record.warnings[0] == (
        f"plugin 'touchy' ({plugin}): hook 'ebmkit_run_started' raised OSError: no; "
        "it is disabled for the rest of the run"
    )
    assert record.status == "finished"


def test_ctrl_c_is_recorded_and_passed_on(small, plan_of, tmp_path):
    small["objective"] = {"use": "faulty.trouble", "kind": "ctrl-c"}
    with pytest.raises(KeyboardInterrupt):
        run(plan_of(small), runs_dir=tmp_path)
    assert status(tmp_path)["status"] == "interrupted"


def test_unmet_expectations_are_all_told_after_everything_was_saved(small, plan_of, tmp_path):
    small["evaluate"] = [{"use": "faulty.draws", "value": 2.0}]
    small["expect"] = [
        {"metric": "draws", "below": 1.0},
        {"metric": "draws", "above": 1.0, "below": 3.0},
        {"metric": "draws", "above": 2.0},
    ]
    unmet = run(plan_of(small), runs_dir=tmp_path).unmet
    told = [mistake.message for mistake in unmet]
    assert told == ["draws is 2, expected below 1", "draws is 2, expected above 2"]
    assert {mistake.exit_status for mistake in unmet} == {6}
    assert len({mistake.place.line for mistake in unmet}) == 2
    assert status(tmp_path)["status"] == "finished"
    assert list(tmp_path.glob("*/*/plots/summary.png"))


def test_a_session_draws_what_its_caller_gives_it(small, plan_of, tmp_path):
    seen = []
    drawn = session.run(plan_of(small), runs_dir=tmp_path, draw=lambda *given: seen.append((*given, status(tmp_path))))
    ((view, record, summary),) = seen
    assert record is drawn
    assert view.results == drawn.results
    assert summary["status"] == "running"  # it is finished when the pictures are there
    bare = session.run(plan_of(small), runs_dir=tmp_path / "bare")
    assert status(tmp_path / "bare")["status"] == "finished"
    assert not bare.report.exists()
    assert not (bare.folder / "plots").exists()


def test_a_runs_folder_that_cannot_be_made_is_a_storage_error(small, plan_of, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageFailed, match="file"):
        run(plan_of(small), runs_dir=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_full_disk_is_a_storage_error_and_trackers_are_closed(small, plan_of, tmp_path, diary):
    small["trackers"] = ["faulty.full_disk"]
    with pytest.raises(StorageFailed, match=r"metrics\.full: No space left on device"):
        run(plan_of(small), runs_dir=tmp_path)
    assert "closed" in diary()
    assert status(tmp_path)["status"] == "failed"


def test_hooks_hear_the_life_of_a_run_in_order(small, plan_of, tmp_path, diary):
    small["evaluate"] = ["faulty.draws"]
    small["train"]["steps"] = 3
    plan = plan_of(small)
    diary().clear()
    run(plan, runs_dir=tmp_path)
    steps = [("step", step, step) for step in (1, 2, 3)]
    assert diary() == [
        ("started", True),
        *steps,
        ("saved", True),
        ("finished", ["draws", "verdict", "verdict_p_value"]),
    ]


def test_a_statistic_that_aliases_a_parameter_is_read_before_it_changes(small, plan_of, tmp_path):
    small["objective"] = "faulty.alias"
    small["train"] = {"steps": 5, "batch_size": 32, "optimizer": {"use": "sgd", "lr": 0.1}}
    plan = plan_of(small)
    from ebmkit.engine.build import build

    first = next(build(plan).model.parameters()).flatten()[0].item()
    seen = [line["weight"] for line in lines(run(plan, runs_dir=tmp_path).folder) if "weight" in line]
    assert seen[0] == first
    assert len(set(seen)) == 5


def test_a_sampling_experiment_needs_no_training(tmp_path):
    spec = {
        "ebmkit": 1,
        "name": "mixture",
        "device": "cpu",
        "model": {"use": "gaussian", "mean": [1.0, -1.0]},
        "sampler": "exact",
        "samples": 4000,
    }
    record = run(load_spec(spec), runs_dir=tmp_path)
    x = load_file(record.folder / "samples" / "samples.safetensors")["x"]
    assert x.mean(0).tolist() == pytest.approx([1.0, -1.0], abs=0.08)
    assert not (record.folder / "metrics.jsonl").read_text()


def test_long_runs_are_recorded_as_means_over_windows(small, plan_of, tmp_path):
    small["train"]["steps"] = 410
    record = run(plan_of(small), runs_dir=tmp_path)
    assert [line["step"] for line in lines(record.folder)][:3] == [2, 4, 6]
    small["train"]["steps"] = 100
    single = lines(run(plan_of({**small, "train": {**small["train"], "final_lr": 1.0}}), runs_dir=tmp_path).folder)
    assert [line["step"] for line in single if "loss" in line] == list(range(1, 101))


def test_training_is_the_loop_one_would_write_by_hand(small, plan_of, tmp_path):
    """Batches, the objective's own stream, cosine decay, running mean."""
    from ebmkit.chains.context import StepContext
    from ebmkit.engine.batches import Batches
    from ebmkit.engine.build import build
    from ebmkit.engine.rng import Streams

    small["train"]["optimizer"] = {"use": "sgd", "lr": 0.1}
    plan = plan_of(small)
    record = run(plan, runs_dir=tmp_path)
    parts, streams = build(plan), Streams(3, torch.device("cpu"))
    rng, batches = streams.generator("objective"), Batches(parts.train, 32, streams, "train", parts.device)
    mean = [p.detach().clone() for p in parts.model.parameters()]
    for step in range(1, 21):
        loss = plan.spec.objective.loss(parts.model, batches.at(step), StepContext(rng, parts.extras, step)).value
        learnt = [*parts.model.parameters(), *parts.extras.parameters()]
        rate = 0.1 * (0.1 + 0.9 * (1 + math.cos(math.pi * (step - 1) / 19)) / 2)
        with torch.no_grad():
            for p, gradient in zip(learnt, torch.autograd.grad(loss, learnt), strict=True):
                p -= rate * gradient
            for average, p in zip(mean, parts.model.parameters(), strict=True):
                average.lerp_(p, 1 - min(0.9, (1 + step) / (10 + step)))
    folder = record.folder / "checkpoints" / "step-000020"
    for name, expected in (("model", list(parts.model.parameters())), ("mean", mean)):
        saved = load_file(folder / f"{name}.safetensors")
        names = [key for key, _ in parts.model.named_parameters()]
        assert all(torch.allclose(saved[key], value, atol=1e-6) for key, value in zip(names, expected, strict=True))
        assert any(not torch.allclose(saved[key], start) for key, start in build(plan).model.state_dict().items())


def test_a_run_leaves_the_settings_of_the_process_as_they_were(small, plan_of, tmp_path):
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(False)
    try:
        run(plan_of(small), runs_dir=tmp_path)
        assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == (2, False)
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


def test_an_untrusted_run_folder_cannot_lead_elsewhere(small, plan_of, tmp_path):
    from ebmkit.engine.limit import Limit
    from tests.drawn import resume

    plan = plan_of(small)
    folder = run(plan, runs_dir=tmp_path / "runs", limit=Limit(steps=3)).folder
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".settings.2024").write_text("mine")
    (folder / "pictures").symlink_to(outside)
    with pytest.raises(StorageFailed, match="pictures: a link to"):
        resume(plan, folder)
    (folder / "pictures").unlink()
    log = (folder / "log.txt").rename(folder / "kept.txt")
    (folder / "log.txt").symlink_to(log)
    said = log.read_text()
    with pytest.raises(StorageFailed, match="it is a link"):
        resume(plan, folder)
    (folder / "log.txt").unlink()
    lock = (folder / "lock.yaml").read_text()
    aliases = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    (folder / "lock.yaml").write_text(f"{lock}a0: &a0 [x, x]\n{aliases}")
    with pytest.raises(StorageFailed, match="damaged"):
        resume(plan, folder)
    (folder / "lock.yaml").write_text(lock)
    assert resume(plan, folder).status == "finished"
    assert (outside / ".settings.2024").exists()
    assert log.read_text() == said
