"""`ebmkit runs` with conditions, an order and columns."""

import csv
import json

import pytest

from tests.cli.typed import ebmkit
from tests.store.made_up import made_up


@pytest.fixture
def runs(tmp_path):
    for number, objective in enumerate(["nce", "mle", "nce"]):
        made_up(tmp_path, number, objective=objective)
    return str(tmp_path)


def test_columns_in_an_order(runs):
    lines = ebmkit("runs", runs, "--columns", "objective,train.optimizer.lr,kl_divergence", "--sort=-seed").stdout
    head, *rows = [line.split()[1:] for line in lines.splitlines()]
    assert head == ["objective", "train.optimizer.lr", "kl_divergence"]
    assert rows == [["nce", "0.01", "0.2"], ["mle", "0.1", "0.1"], ["nce", "1", "0"]]


def test_conditions(runs):
    found = json.loads(ebmkit("runs", runs, "--where", "objective=nce", "--where", "seed>0", "--json").stdout)
    assert [run["seed"] for run in found] == [2]
    assert "none of 3 runs" in ebmkit("runs", runs, "--where", "objective=jem").stdout


def test_comma_separated_values(runs):
    rows = list(csv.DictReader(ebmkit("runs", runs, "--csv").stdout.splitlines()))
    assert [row["kl_divergence"] for row in rows] == ["0.0", "0.1", "0.2"]
    assert list(csv.reader(ebmkit("runs", runs, "--csv", "--columns", "seed,model.hidden").stdout.splitlines()))[1] == [
        "0",
        "[64, 64]",
    ]


def test_columns_as_json(runs):
    found = json.loads(ebmkit("runs", runs, "--columns", "seed,objective", "--json").stdout)
    assert [(run["seed"], run["objective"]) for run in found] == [(0, "nce"), (1, "mle"), (2, "nce")]


@pytest.mark.parametrize("words", [["--sort", "seeed"], ["--columns", "seeed"], ["--where", "seeed=1"]])
def test_an_unknown_column_has_a_hint(runs, words):
    assert "did you mean 'seed'?" in ebmkit("runs", runs, *words, status=2).stderr
