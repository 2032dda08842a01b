"""The verdict in words, on the terminal, in run.json and in the report."""

import html
import json
from types import SimpleNamespace

import pytest

from ebmkit import load_spec
from ebmkit.contracts.judgement import Difference, Judgement
from ebmkit.engine.telling.verdict_words import verdict_entry, verdict_words
from tests.drawn import run

PLAN = load_spec({"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0, 0.0, 0.0, 0.0]}}, idle=True)
VIEW = SimpleNamespace(plan=PLAN, event=(4,), names=SimpleNamespace(shown=None))


def judgement(level="mismatch", visible=0.1, **worst):
    known = {"kind": "mean", "columns": (2,), "samples": 0.9, "data": 0.0, "size": 0.9, "p_value": 1e-9, **worst}
    return Judgement(level, Difference(**known), 1e-8, 4000, 12 if visible > 0.3 else 2000, visible)


@pytest.mark.parametrize(
    ("worst", "words"),
    [
        ({}, "the mean of x[2] is 0.9 standard deviations above that of the data"),
        ({"samples": -0.9}, "the mean of x[2] is 0.9 standard deviations below that of the data"),
        ({"kind": "spread", "samples": 1.9, "data": 1.0}, "the spread of x[2] is 1.9 times that of the data"),
        ({"kind": "spread", "data": 0.0}, "x[2] is the same in all of the data, but not in the samples"),
        (
            {"kind": "correlation", "columns": (0, 3), "samples": 0.1, "data": 0.8},
            "the correlation of x[0] and x[3] is 0.10, in the data 0.80",
        ),
        ({"kind": "apart", "size": 0.12}, "12% of the samples lie where there are no data"),
        ({"kind": "missed", "size": 0.3}, "30% of the data lie where there are no samples"),
        ({"kind": "recognised", "samples": 0.78}, "a classifier tells samples from data in 78% of cases"),
    ],
)
def test_differences_in_words(worst, words):
    assert verdict_words(judgement(**worst), VIEW).startswith(f"samples do not match the data: {words}")


def test_columns_have_names_if_the_data_have():
    named = SimpleNamespace(plan=PLAN, event=(4,), names=SimpleNamespace(shown=("a", "b", "petal_width", "d")))
    assert "the mean of petal_width is" in verdict_words(judgement(), named)
    assert verdict_entry(judgement(), named)["worst"]["columns"] == ["petal_width"]


def test_a_match_needs_no_numbers_unless_little_can_be_seen():
    assert verdict_words(judgement("match"), VIEW) == "samples match the data"
    assert verdict_words(judgement("match", visible=0.94), VIEW) == (
        "samples match the data, but 12 held-out points show a shift of a mean only if it is larger than 0.9 standard "
        "deviations"
    )
    assert verdict_words(judgement("slight"), VIEW).startswith("samples differ slightly from the data: the mean of ")


SPEC = {
    "ebmkit": 1,
    "name": "judged",
    "device": "cpu",
    "data": {"use": "from_model", "model": {"use": "gaussian", "mean": [0.0, 0.0]}, "size": 400, "test_size": 400},
    "model": {"use": "gaussian", "mean": [0.0, 0.0]},
    "sampler": "exact",
    "samples": 400,
}


class Listener:
    def __init__(self):
        self.said = []

    def __getattr__(self, name):
        return self.said.append if name == "say" else lambda *_: None


@pytest.mark.parametrize(("mean", "level"), [(0.0, "match"), (3.0, "mismatch")])
def test_a_run_states_its_verdict(tmp_path, mean, level):
    listener = Listener()
    spec = {**SPEC, "model": {"use": "gaussian", "mean": [mean, 0.0]}, "expect": [{"metric": "verdict", "below": 1}]}
    record = run(load_spec(spec), runs_dir=tmp_path, progress=listener)
    summary = json.loads((record.folder / "run.json").read_text())
    entry = summary["verdict"]
    assert entry["level"] == level
    assert entry["p_value"] == summary["results"]["verdict_p_value"]
    assert bool(record.unmet) == (level == "mismatch")
    words = entry["words"]
    assert (f"warning: {words}" if mean else f"verdict    {words}") in listener.said
    assert (words in record.warnings) == bool(mean)
    page = html.unescape((record.folder / "report.html").read_text())
    first = page.split("<main>")[1].strip().split("\n")[0]
    assert words in first
    assert page.count(words) == 1
    if mean:
        assert entry["worst"]["kind"] == "mean"
        assert entry["worst"]["words"].startswith("the mean of x[0] is ")
