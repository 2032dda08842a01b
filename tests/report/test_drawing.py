"""The picture and the page of runs that did not end well."""

from __future__ import annotations

import html
import re
import shutil

import pytest

from ebmkit import load_spec
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.sampling import view_for_report
from ebmkit.errors.running import ComponentFailed, Diverged, StorageFailed
from ebmkit.report.page import write_report
from ebmkit.report.summary import draw_summary
from tests.drawn import run
from tests.report.views import SPEC

#: Diverges in its first step.
TOO_FAST = {"steps": 10, "batch_size": 32, "optimizer": {"use": "sgd", "lr": 1e38}}


def without_tags(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)))


@pytest.fixture(scope="module")
def diverged(tmp_path_factory):
    """A run that diverged after it had saved samples twice, and its error."""
    runs = tmp_path_factory.mktemp("runs")
    spec = {**SPEC, "objective": "nce", "train": [{"steps": 6, "batch_size": 32}, TOO_FAST], "samples_every": 3}
    with pytest.raises(Diverged, match="at step 7") as caught:
        run(load_spec(spec), runs_dir=runs)
    (folder,) = runs.glob("*/*/")
    return folder, caught.value


def test_a_run_that_diverged_has_a_picture_and_a_page_with_error_and_curves(diverged):
    folder, error = diverged
    assert (folder / "plots/summary.png").read_bytes().startswith(b"\x89PNG")
    text = without_tags((folder / "report.html").read_text(encoding="utf-8"))
    assert f"diverged {error.message}" in text
    assert "Loss" in text
    assert text.count(f"Not drawn: {error.message}") == 4  # samples, energy, score and energies, in their places
    assert "failed." not in text  # no panel is to blame
    assert "Samples over training" in text  # those that were saved before
    assert "Continue the run" in text


def test_its_report_can_be_written_again_with_the_same_curves(diverged):
    folder, error = diverged
    plan, summary = load_spec(folder / "resolved.yaml"), read_summary(folder)
    view = view_for_report(plan, folder, summary, print)
    assert [step for step, _ in view.series["loss"]] == list(range(1, view.step + 1))
    assert view.step == 7
    text = without_tags(write_report(view, summary, (folder / "lock.yaml").read_text()))
    assert f"Not drawn: {error.message}" in text
    assert "Panel '" not in text


#: Takes the place of the file that keeps the samples, so that they cannot be stored.
OBSTACLE = """
from ebmkit.api import Metric, component

@component("obstacle")
class Obstacle(Metric):
    \"\"\"In the way.\"\"\"

    def results(self):
        return ("obstacle",)

    def measure(self, view):
        (view.folder / "samples/samples.safetensors/x").mkdir(parents=True)
        return {"obstacle": 1.0}
"""


def test_a_run_that_fails_after_training_still_has_its_weights(tmp_path):
    (tmp_path / "odd.py").write_text(OBSTACLE)
    spec = {**SPEC, "objective": "nce", "train": {"steps": 6, "batch_size": 32}, "evaluate": ["odd.obstacle"]}
    plan = load_spec(spec, plugins=tmp_path / "odd.py")
    with pytest.raises(StorageFailed) as caught:
        run(plan, runs_dir=tmp_path / "runs")
    (folder,) = (tmp_path / "runs").glob("*/*/")
    summary = read_summary(folder)
    assert summary["status"] == "failed"
    view = view_for_report(plan, folder, summary, print)
    assert view.energy(view.data("test")).isfinite().all()
    assert [step for step, _ in view.series["loss"]] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ComponentFailed, match=re.escape(caught.value.message)):
        view.samples(5)
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(ComponentFailed, match=re.escape(caught.value.message)):
        view_for_report(plan, folder, summary, print).energy(view.data("test"))


def test_a_run_that_fails_in_its_first_step_has_both_too(tmp_path):
    with pytest.raises(Diverged, match="at step 1"):
        run(load_spec({**SPEC, "objective": "nce", "train": TOO_FAST}), runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    assert (folder / "plots/summary.png").is_file()
    text = without_tags((folder / "report.html").read_text(encoding="utf-8"))
    assert "Panel '" not in text
    assert "There are no results." in text


def test_the_page_lists_failed_metrics_with_their_reasons(diverged):
    folder, _ = diverged
    plan, summary = load_spec(folder / "resolved.yaml"), read_summary(folder)
    view = view_for_report(plan, folder, summary, print)
    failed = {"what": "metric 'fid'", "results": ["fid", "fid_floor"], "place": "a.yaml:3:4", "reason": "no <idea>"}
    summary |= {"status": "finished", "failed": [failed, "damaged"], "results": {"mmd": 0.5}}
    text = without_tags(write_report(view, summary, ""))
    assert "metric 'fid' failed no <idea> a.yaml:3:4" in text
    assert re.search(r"fid floor\s+failed", text.replace("_ ", " "))
    assert re.search(r"mmd\s+0.5", text)
    assert "Measure again" in text


@pytest.mark.parametrize("status", ["finished", "diverged"])
def test_the_picture_of_a_run_whose_claim_could_not_be_measured(diverged, status):
    folder, _ = diverged
    plan = load_spec(folder / "resolved.yaml", sets=["evaluate=[mmd]", "expect=[{metric: mmd, below: 1}]"])
    view = view_for_report(plan, folder, read_summary(folder), print)
    view.results = {}
    assert draw_summary(view, status).startswith(b"\x89PNG")
