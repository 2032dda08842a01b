"""What fails in the final evaluation is listed with its reason; everything else stands."""

from __future__ import annotations

import json

import pytest
from safetensors.torch import load_file

from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.folder.record import Record
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.sampling import view_of
from ebmkit.engine.session import Session
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import ComponentFailed, Diverged, StorageFailed
from tests.drawn import resume, run

pytestmark = pytest.mark.usefixtures("undrawn")

#: The first and the last are sound, and measured with samples and without.
METRICS = [{"use": "mmd", "samples": 50}, "faulty.infinite", "faulty.liar", "faulty.broke", "loss_curve"]


def numbers(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def plan(small, plan_of):
    return plan_of(
        {
            **small,
            "evaluate": METRICS,
            "expect": [{"metric": "announced", "below": 1}, {"metric": "mmd", "below": 100}],
        }
    )


def test_metrics_that_fail_leave_the_other_results_the_samples_and_the_report(plan, tmp_path):
    record = run(plan, runs_dir=tmp_path)
    assert {"mmd", "loss_level"} <= set(record.results)
    assert not {"infinite", "announced", "other", "broke"} & set(record.results)
    assert len(load_file(record.folder / "samples/samples.safetensors")["x"]) == 50
    assert record.report.is_file()
    assert record.picture.is_file()
    assert numbers(record.folder)[-1] == {"step": 20, **record.results}


def test_every_failure_is_recorded_with_metric_place_and_reason(plan, tmp_path):
    record = run(plan, runs_dir=tmp_path)
    summary = read_summary(record.folder)
    assert summary["status"] == "finished"
    assert "error" not in summary
    assert [(one["what"], one["results"], one["code"]) for one in summary["failed"]] == [
        ("metric 'faulty.infinite'", ["infinite"], "E302"),
        ("metric 'faulty.liar'", ["announced"], "E301"),
        ("metric 'faulty.broke'", ["broke"], "E305"),
    ]
    reasons = [one["reason"] for one in summary["failed"]]
    assert reasons[0] == "metric 'faulty.infinite': infinite is inf after 20 training steps"
    assert "it measured other, but announces announced" in reasons[1]
    assert [one["place"] for one in summary["failed"]] == ["evaluate[1]", "evaluate[2]", "evaluate[3]"]
    log = (record.folder / "log.txt").read_text()
    assert all(f"{one['what']} failed: {one['reason']}" in log for one in summary["failed"])


def test_a_claim_about_a_value_that_failed_is_unmet_and_says_why(plan, tmp_path):
    record = run(plan, runs_dir=tmp_path)
    (claim,) = record.unmet
    assert claim.message == "announced was not measured, because metric 'faulty.liar' failed; expected below 1"
    assert claim.place == plan.place(("expect", 0))
    mistakes = Mistakes(record.mistakes)
    assert [mistake.exit_status for mistake in mistakes.mistakes].count(6) == 1
    assert mistakes.exit_status == 3  # that of the environment and of the wrong results, before 4 and 6


def test_a_claim_about_the_verdict_on_samples_that_could_not_be_drawn_is_unmet(small, plan_of, tmp_path):
    small |= {"sampler": {"use": "langevin", "steps": 200, "step_size": 1e6}, "samples_every": None}
    small["expect"] = [{"metric": "verdict", "below": 2}]
    record = run(plan_of(small), runs_dir=tmp_path)
    assert [failure.what for failure in record.failed] == ["samples"]
    (claim,) = record.unmet
    assert claim.message == "verdict was not measured, because samples failed; expected below 2"


def test_only_a_number_that_is_not_finite_has_the_exit_status_of_divergence(small, plan_of, tmp_path):
    small["evaluate"] = ["faulty.infinite"]
    small["expect"] = [{"metric": "infinite", "below": 1}]
    assert Mistakes(run(plan_of(small), runs_dir=tmp_path).mistakes).exit_status == 4


def test_without_samples_the_metrics_that_need_none_are_measured(small, plan_of, tmp_path):
    small |= {"sampler": {"use": "langevin", "steps": 200, "step_size": 1e6}, "samples_every": None}
    small["evaluate"] = [{"use": "mmd", "samples": 50}, "loss_curve", {"use": "faulty.draws", "samples": 10}]
    record = run(plan_of(small), runs_dir=tmp_path)
    assert set(record.results) == set(plan_of(small).spec.evaluate[1].results())
    assert [failure.what for failure in record.failed] == ["samples", "metric 'mmd'", "metric 'faulty.draws'"]
    assert not record.verdict
    (told,) = Mistakes(record.mistakes).mistakes  # one reason is told once
    assert isinstance(told, Diverged)
    assert "sampler 'langevin': 50 of 50 samples are not finite" in told.message
    assert not (record.folder / "samples/samples.safetensors").exists()
    assert record.report.is_file()
    assert read_summary(record.folder)["status"] == "finished"


def test_a_sampling_experiment_whose_chains_diverge_has_diverged_but_keeps_the_rest(tmp_path, plan_of):
    spec = {
        "ebmkit": 1,
        "device": "cpu",
        "model": {"use": "gaussian", "mean": [0.0, 0.0]},
        "sampler": {"use": "langevin", "steps": 100, "step_size": 1e6},
        "samples": 20,
        "evaluate": ["log_z", {"use": "moments", "samples": 20}],
    }
    with pytest.raises(Diverged, match="20 of 20 samples are not finite"):
        run(plan_of(spec), runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    summary = read_summary(folder)
    assert summary["status"] == "diverged"
    assert set(summary["results"]) == {"log_z"}
    assert [one["what"] for one in summary["failed"]] == ["samples", "metric 'moments'"]
    assert (folder / "report.html").is_file()


def test_samples_that_could_not_be_drawn_are_not_tried_again_for_the_report(small, plan_of, tmp_path, monkeypatch):
    from ebmkit.engine.sample_drawing import SampleDrawing
    from ebmkit.engine.sampling import view_for_report

    small |= {"sampler": {"use": "langevin", "steps": 200, "step_size": 1e6}, "samples_every": None}
    record = run(plan_of(small), runs_dir=tmp_path)
    monkeypatch.setattr(SampleDrawing, "draw", lambda *_: pytest.fail("drawn again"))
    view = view_for_report(record.plan, record.folder, read_summary(record.folder), print)
    with pytest.raises(Diverged, match="50 of 50 samples are not finite"):
        view.samples(5)
    assert view.energy(view.data("test")).isfinite().all()


def test_resuming_such_a_run_measures_again_and_trains_no_more(small, plan_of, tmp_path, monkeypatch):
    small["evaluate"] = [{"use": "mmd", "samples": 50}, "faulty.moody"]
    monkeypatch.setenv("FAULTY_MOOD", "bad")
    before = run(plan_of(small), runs_dir=tmp_path)
    assert [failure.what for failure in before.failed] == ["metric 'faulty.moody'"]
    weights = (before.folder / "checkpoints/step-000020/mean.safetensors").read_bytes()
    monkeypatch.setenv("FAULTY_MOOD", "good")
    after = resume(plan_of(small), before.folder)
    assert not after.failed
    assert after.results == {**before.results, "mood": 1.0}
    assert read_summary(before.folder)["failed"] == []
    assert (before.folder / "checkpoints/step-000020/mean.safetensors").read_bytes() == weights
    whole = run(plan_of(small), runs_dir=tmp_path / "whole")
    assert numbers(before.folder) == numbers(whole.folder)


def test_what_was_measured_before_stands_until_it_is_measured_again(small, plan_of, tmp_path, monkeypatch):
    small["evaluate"] = [{"use": "mmd", "samples": 50}, "faulty.moody"]
    small["expect"] = [{"metric": "mmd", "above": 100}]
    monkeypatch.setenv("FAULTY_MOOD", "bad")
    folder = run(plan_of(small), runs_dir=tmp_path).folder
    before = read_summary(folder)
    with pytest.raises(KeyboardInterrupt), Record.reopen(folder, plan_of(small), []):
        raise KeyboardInterrupt
    after = read_summary(folder)
    assert after["status"] == "interrupted"
    kept = ("results", "failed", "unmet", "verdict")
    assert [after[key] for key in kept] == [before[key] for key in kept]
    assert [len(after[key]) for key in kept[:3]] == [4, 1, 1]


class Unprintable(Exception):
    """Raises another error wherever it is shown."""

    def __repr__(self) -> str:
        raise RuntimeError("the second error")

    __str__ = __repr__


def test_an_error_that_cannot_be_printed_is_still_the_first_error(small, plan_of, tmp_path, monkeypatch):
    def fail(session: object) -> None:
        raise Unprintable

    monkeypatch.setattr(Session, "_train", fail)
    with pytest.raises(Unprintable):
        run(plan_of(small), runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    assert "its message cannot be shown" in read_summary(folder)["error"]


def test_a_metric_that_cannot_say_what_it_measures_is_a_failure_like_others(small, plan_of, monkeypatch):
    small["evaluate"] = ["faulty.moody", {"use": "mmd", "samples": 50}]
    plan = plan_of(small)
    view = view_of(plan, None)

    def results(metric: object) -> tuple[str, ...]:
        raise RuntimeError("no names")

    monkeypatch.setattr(type(plan.spec.evaluate[0]), "results", results)
    measured = Evaluation(view).measure(plan.spec.evaluate)
    assert set(measured.results) == {"mmd", "mmd_floor", "verdict", "verdict_p_value"}
    assert [(failure.what, failure.results) for failure in measured.failed] == [("metric 'faulty.moody'", ())]


def test_evaluation_of_a_model_collects_failures_too(plan):
    measured = Evaluation(view_of(plan, None)).measure(plan.spec.evaluate, at_least=50)
    assert "mmd" in measured.results
    assert len(measured.failed) == 4  # the loss curve of a model that was not trained is the fourth


def test_runs_made_before_failures_were_recorded_can_be_read(plan, tmp_path):
    folder = run(plan, runs_dir=tmp_path).folder
    summary = json.loads((folder / "run.json").read_text())
    del summary["failed"]
    (folder / "run.json").write_text(json.dumps(summary))
    assert read_summary(folder)["failed"] == []


# A run that stops while training.


def test_a_report_that_fails_does_not_hide_the_first_error(small, plan_of, tmp_path):
    from ebmkit.engine import session

    def draw(view, record):
        assert record.status == "diverged"
        raise StorageFailed("no space left")

    small["objective"] = {"use": "faulty.trouble", "kind": "nan"}
    with pytest.raises(Diverged, match="loss became nan at step 7"):
        session.run(plan_of(small), runs_dir=tmp_path, draw=draw)
    assert read_summary(next(tmp_path.glob("*/*/")))["status"] == "diverged"


def test_no_report_is_attempted_when_the_disk_is_the_problem(small, plan_of, tmp_path):
    from ebmkit.engine import session

    small["trackers"] = ["faulty.full_disk"]
    with pytest.raises(StorageFailed, match="No space left"):
        session.run(plan_of(small), runs_dir=tmp_path, draw=lambda *_: pytest.fail("drawn"))


def test_a_signal_during_the_report_of_a_failed_run_does_not_hide_the_error(small, plan_of, tmp_path):
    import os
    import signal

    from ebmkit.engine import session

    began = []

    def draw(view, record):
        began.append(True)
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the signal waits")

    small["objective"] = {"use": "faulty.trouble", "kind": "raise"}
    with pytest.raises(ComponentFailed, match="out of luck"):
        session.run(plan_of(small), runs_dir=tmp_path, draw=draw)
    assert began
    assert read_summary(next(tmp_path.glob("*/*/")))["status"] == "failed"


def test_previews_that_cannot_be_drawn_do_not_stop_the_training(small, plan_of, tmp_path):
    spec = {**small, "sampler": {"use": "langevin", "steps": 20, "step_size": 1e30}, "samples_every": 4}
    record = run(plan_of(spec), runs_dir=tmp_path)
    assert record.step == 20
    assert [failure.what for failure in record.failed] == ["samples"]
    warned = [line for line in record.warnings if "the samples for the report could not be drawn" in line]
    assert [line.partition(":")[0] for line in warned] == ["step 4", "step 8", "step 12", "step 16"]
