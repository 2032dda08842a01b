"""Columns of runs: fields, results, parameters by their paths."""

import pytest

from ebmkit.store.columns import UnknownColumn, order, require_known, value_of
from ebmkit.store.entry import Entry, entries
from tests.store.made_up import made_up


@pytest.fixture
def runs(tmp_path):
    for number in (2, 0, 1):
        made_up(tmp_path, number)
    return entries(tmp_path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "finished"),
        ("seed", 1),
        ("seconds", 2.5),
        ("kl_divergence", 0.1),
        ("objective", "nce"),  # of a component its name
        ("objective.sampler", "langevin"),  # a named part in its place
        ("objective.sampler.steps", 20),
        ("train.optimizer.lr", 0.1),
        ("model.hidden", "[64, 64]"),
        ("model.hidden.1", 64),
        ("deterministic", "false"),
        ("model.hidden.2", None),
        ("model.depth", None),
        ("error", None),
    ],
)
def test_a_value(tmp_path, column, value):
    assert value_of(Entry(made_up(tmp_path, 1)), column) == value


def test_a_verdict_is_its_level(tmp_path):
    assert value_of(Entry(made_up(tmp_path, 1, verdict={"level": "mismatch"})), "verdict") == "mismatch"


def test_runs_are_sorted_by_numbers_and_those_without_one_are_last(tmp_path, runs):
    made_up(tmp_path, 3, results={})
    found = entries(tmp_path)
    assert [entry.summary["seed"] for entry in order(found, "kl_divergence")] == [0, 1, 2, 3]
    assert [entry.summary["seed"] for entry in order(found, "kl_divergence", descending=True)] == [2, 1, 0, 3]


def test_numbers_are_sorted_before_texts(tmp_path):
    for number, name in enumerate(["b", "a"]):
        made_up(tmp_path, number, results={}, error=name)
    assert [entry.summary["seed"] for entry in order(entries(tmp_path), "error")] == [1, 0]


def test_an_unknown_column_is_refused_with_the_nearest_one(runs):
    with pytest.raises(UnknownColumn, match=r"no run has 'train.optimiser.lr'; did you mean 'train.optimizer.lr'"):
        require_known(["status", "train.optimiser.lr"], runs)
    require_known(["error", "kl_divergence", "model.hidden.0"], runs)


def test_a_folder_that_cannot_be_read_is_an_entry_with_a_reason(tmp_path):
    folder = made_up(tmp_path, 1)
    (folder / "run.json").write_text("{")
    (folder / "resolved.json").write_text("[]")
    (entry,) = entries(tmp_path)
    assert (entry.status, entry.parameters, entry.results) == ("damaged", {}, {})
    assert "run.json" in entry.summary["error"]


def test_earlier_runs_without_the_json_file_have_their_parameters_too(tmp_path):
    folder = made_up(tmp_path, 1)
    (folder / "resolved.json").unlink()
    (folder / "resolved.yaml").write_text("ebmkit: 1\nobjective: {use: mle}\n")
    assert value_of(Entry(folder), "objective") == "mle"
