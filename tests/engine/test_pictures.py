"""Trackers get the plan, pictures of samples and the final results; a resumed run repeats none of them."""

from __future__ import annotations

import json
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from ebmkit import load_spec
from ebmkit.engine import session
from ebmkit.engine.limit import Limit
from ebmkit.errors.running import ComponentFailed
from ebmkit.report.drawing import draw_samples

#: Trackers that write what they are given, line by line.
PLUGIN = '''
import hashlib, json
from ebmkit.api import Log, Tracker, component


class Numbers(Log):
    def __init__(self, run):
        self.file = (run.folder / "heard.txt").open("a")
        known = {"name": run.name, "seed": run.seed, "steps": run.steps, "step": run.step, "hash": run.hash,
                 "model": run.spec["model"]["use"], "text": "use: mlp" in run.text, "past": len(run.records)}
        self.say("open", known)

    def say(self, *what):
        print(json.dumps(what), file=self.file, flush=True)

    def write(self, step, values):
        self.say("write", step, sorted(values))

    def finish(self, results):
        self.say("finish", results)

    def close(self):
        self.say("close")


class Album(Numbers):
    def picture(self, step, name, png):
        self.say("picture", step, name, hashlib.sha256(png).hexdigest())
        (self.file_of(step, name)).write_bytes(png)

    def file_of(self, step, name):
        from pathlib import Path
        return Path(self.file.name).with_name(f"{name}-{step}.png")


@component("numbers")
class NumbersTracker(Tracker):
    """Writes what it hears."""

    def open(self, run):
        return Numbers(run)


@component("album")
class AlbumTracker(Tracker):
    """Also pictures."""

    def open(self, run):
        return Album(run)


class Torn(Log):
    def write(self, step, values): ...
    def picture(self, step, name, png): raise IndexError("no page left")


@component("torn")
class TornTracker(Tracker):
    """Takes no picture."""

    def open(self, run):
        return Torn()
'''


@pytest.fixture
def plan_of(small, tmp_path):
    path = tmp_path / "listener.py"
    path.write_text(PLUGIN)
    small["samples_every"] = 5
    small["checkpoint"] = {"every": 1000}

    def plan(tracker="album", **changes):
        return load_spec({**small, "trackers": ["jsonl", f"listener.{tracker}"], **changes}, plugins=[str(path)])

    return plan


def run(plan, runs, **options):
    return session.run(plan, runs_dir=runs, picture=draw_samples, **options)


def heard(folder, *words):
    lines = [json.loads(line) for line in (folder / "heard.txt").read_text().splitlines()]
    return [line for line in lines if line[0] in words]


def test_a_tracker_gets_the_plan_and_the_results(plan_of, tmp_path):
    plan = plan_of("numbers", evaluate=[{"use": "sliced_wasserstein", "samples": 50}])
    record = run(plan, tmp_path / "runs")
    ((_, opened),) = heard(record.folder, "open")
    assert opened == {
        "name": "small", "seed": 3, "steps": 20, "step": 0, "hash": plan.hash, "model": "mlp", "text": True, "past": 0,
    }  # fmt: skip
    assert heard(record.folder, "finish", "close") == [["finish", record.results], ["close"]]
    assert heard(record.folder, "picture") == []


def test_pictures_are_those_of_the_previews_and_of_the_final_samples(plan_of, tmp_path):
    record = run(plan_of(), tmp_path / "runs")
    found = heard(record.folder, "picture")
    assert [(step, name) for _, step, name, _ in found] == [(step, "samples") for step in (5, 10, 15, 20)]
    assert len({digest for *_, digest in found}) == 4
    shades = imread(BytesIO((record.folder / "samples-20.png").read_bytes()))
    assert shades.shape == (440, 440, 4)
    assert np.all(shades[..., 3] == 1)  # it stands alone, so its paper is white
    assert 0.002 < np.mean(shades[..., :3].min(-1) < 0.9) < 0.9


def test_the_picture_of_all_panels_comes_last(plan_of, tmp_path):
    def draw(view, record):
        record.file("plots/summary.png").write_bytes(b"all panels")

    record = run(plan_of(samples_every=None), tmp_path / "runs", draw=draw)
    assert [line[1:3] for line in heard(record.folder, "picture")] == [[20, "samples"], [20, "summary"]]
    assert (record.folder / "summary-20.png").read_bytes() == b"all panels"
    assert [line[0] for line in heard(record.folder, "picture", "finish", "close")][-2:] == ["finish", "close"]


def weights(folder):
    return next((folder / "checkpoints").glob("step-000020")).joinpath("model.safetensors").read_bytes()


def test_pictures_change_nothing_and_a_resumed_run_repeats_only_those_of_its_checkpoint(plan_of, tmp_path):
    whole = run(plan_of(), tmp_path / "whole")
    without = run(plan_of("numbers"), tmp_path / "without")
    assert weights(whole.folder) == weights(without.folder)
    paused = run(plan_of(), tmp_path / "paused", limit=Limit(steps=10))
    assert heard(paused.folder, "finish") == []
    again = session.resume(plan_of(), paused.folder, picture=draw_samples)
    assert weights(again.folder) == weights(whole.folder)
    found = heard(again.folder, "picture")
    # Step 10 is that of the checkpoint: a tracker that discards it gets its picture again, the same one.
    assert [step for _, step, _, _ in found] == [5, 10, 10, 15, 20]
    assert found[1] == found[2]
    assert [line for line in found if line not in heard(whole.folder, "picture")] == []
    assert heard(again.folder, "open")[1][1]["step"] == 10


def test_a_picture_that_cannot_be_drawn_is_a_warning(plan_of, tmp_path):
    def draw(view, x):
        raise ZeroDivisionError("no ink")

    record = session.run(plan_of(), runs_dir=tmp_path / "runs", picture=draw)
    assert record.status == "finished"
    (warning,) = [line for line in record.warnings if "pictures" in line]
    assert "no ink" in warning
    assert heard(record.folder, "picture") == []


def test_a_tracker_that_cannot_take_a_picture_stops_the_run_at_its_line(plan_of, tmp_path):
    with pytest.raises(ComponentFailed, match=r"tracker 'listener\.torn'.*no page left"):
        run(plan_of("torn"), tmp_path / "runs")
