"""The tables of `runs` and `diff`: whole where a program reads them, and readable in 80 columns."""

from __future__ import annotations

import io
import json
import re

import pytest
from click.testing import CliRunner
from rich.console import Console

from ebmkit.cli import grid, group, tables

LONG = "an-experiment-with-a-name-that-says-all-about-it"
RESULTS = {"sliced_wasserstein": 0.123456, "mmd": 0.0123, "log_likelihood": -1234.5, "fourth": 1.0}
SUMMARY = {
    "name": LONG,
    "status": "finished",
    "hash": "0" * 64,
    "step": 3000,
    "steps": 3000,
    "started": "2026-01-01T12:00:00+00:00",
    "seconds": 1.5,
    "results": RESULTS,
    "unmet": [],
    "warnings": [],
    "format": 2,
    "sessions": [],
}
NAMES = ["20260101T120000Z-01234567", "20260101T120001Z-89abcdef"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs as folders below `runs`, written by hand."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(NAMES):
        folder = tmp_path / "runs" / LONG / name
        folder.mkdir(parents=True)
        results = {**RESULTS, "mmd": 0.0123 + number}
        (folder / "run.json").write_text(json.dumps({**SUMMARY, "results": results}))
        (folder / "resolved.yaml").write_text(f"seed: {number}\n")
        (folder / "lock.yaml").write_text(f"experiment: '{str(number) * 64}'\nnote: 'x{number}'\n")
    return [f"runs/{LONG}/{name}" for name in NAMES]


def piped(*words):
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


@pytest.fixture
def on_terminal(monkeypatch):
    """What a terminal of some width shows, without colours."""

    def shown(width, *words):
        screen = io.StringIO()
        monkeypatch.setattr(grid, "on_terminal", lambda: True)
        monkeypatch.setattr(tables, "Console", lambda: Console(file=screen, force_terminal=True, width=width))
        assert CliRunner().invoke(group, words).exit_code == 0
        return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in screen.getvalue().splitlines()]

    return shown


def test_a_pipe_gets_one_whole_line_a_run(runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    head, *lines = piped("runs")
    assert head.split() == ["run", "status", "step", "age", "results"]
    assert [line.split()[0] for line in lines] == runs
    assert lines[0].endswith("sliced_wasserstein 0.1235  mmd 0.0123  log_likelihood -1234")
    assert all(line == line.rstrip() for line in lines)


def test_a_terminal_of_80_columns_shows_all_of_it(runs, on_terminal):
    lines = on_terminal(80, "runs")
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for word in [*NAMES, f"runs/{LONG}"[:20], "finished", "3000/3000", "mmd 0.0123", "log_likelihood -1234"]:
        assert word in text, word
    assert "…" not in text


def test_a_wide_terminal_shows_a_line_a_run(runs, on_terminal):
    lines = on_terminal(250, "runs")
    assert len(lines) == 3
    assert lines[1].startswith(runs[0])


def test_a_pipe_gets_whole_values_of_a_difference(runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = piped("diff", *runs)
    assert lines[0].split() == NAMES
    assert [line.split() for line in lines[1:]] == [
        ["spec:"],
        ["seed", "0", "1"],
        ["lock:"],
        ["experiment", "0" * 64, "1" * 64],
        ["note", "x0", "x1"],
        ["results:"],
        ["mmd", "0.0123", "1.0123"],
    ]


def test_a_difference_fits_80_columns_and_loses_nothing(runs, on_terminal):
    lines = on_terminal(80, "diff", *runs)
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("0") >= 64
    assert any(line.startswith("  experiment") for line in lines)
    assert "…" not in "".join(lines)


def test_the_same_run_twice(runs):
    lines = piped("diff", runs[0], runs[0])
    assert lines[0].split() == [runs[0], runs[0]]
    assert [line.strip() for line in lines[1:]] == ["spec: the same", "lock: the same", "results: the same"]


def test_json_is_as_it_was(runs):
    rows = json.loads(piped("runs", "--json")[0])
    assert [row["folder"] for row in rows] == runs
    assert rows[0]["results"] == RESULTS
    told = json.loads(piped("diff", *runs, "--json")[0])
    assert told["spec"] == [{"path": "seed", "one": 0, "other": 1}]
    assert told["results"] == [{"path": "mmd", "one": 0.0123, "other": 1.0123}]


def test_what_strangers_wrote_steers_no_terminal(runs, tmp_path):
    for number, run in enumerate(runs):
        (tmp_path / run / "lock.yaml").write_text(f'note: "\\e[2J {number}\\nline"\n')
        summary = {**SUMMARY, "results": {"\x1b[2J[bold]x": number}}
        (tmp_path / run / "run.json").write_text(json.dumps(summary))
    for words in (("runs",), ("diff", *runs)):
        text = "\n".join(piped(*words))
        assert "\x1b" not in text
        assert "\\x1b[2J[bold]x" in text
