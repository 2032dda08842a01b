"""The progress of a run on terminals of several widths, which are real to the program that writes to them."""

import re
import sys
from functools import cache

import pytest

from tests.cli.pseudo_terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")

#: A run that counts its steps until Ctrl-C, with every statistic that a bar may show.
RUN = """
import time
from ebmkit.cli.terminal import Watch

step = 0
with Watch(quiet=False, as_json=False) as watch:
    watch.follow("training", 200000, lambda: (step, "loss 0.693  E data -1.23e+03  E model 4.56  |grad| 0.789"))
    try:
        while True:
            step += 1
            time.sleep(0.001)
    except KeyboardInterrupt:
        watch.leave("interrupted by Ctrl-C; saved")
"""


@cache
def after(columns):
    """The screen while a run trains, once the time that remains is known, and after Ctrl-C."""
    terminal = Terminal(RUN, columns)
    terminal.wait_for(r"\d+/200000 .*\d left")
    during = terminal.screen()
    terminal.type("\x03")
    assert terminal.end() == 0
    return during, terminal.screen()


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_step_and_remaining_time_are_shown_once_at_every_width(columns):
    during, screen = after(columns)
    for lines in (during, screen):
        bars = [line for line in lines if "/200000" in line]
        assert len(bars) == 1, lines
        assert re.search(r"\d+/200000  (\d+:)?\d+:\d\d left", bars[0])
        assert len(bars[0]) < columns
    assert [line for line in screen if line][-1] == "interrupted by Ctrl-C; saved"
    assert len([line for line in screen if line]) == 2


def test_statistics_are_shown_where_there_is_room():
    shown = {columns: "".join(after(columns)[1]) for columns in (40, 80, 200)}
    assert "loss" not in shown[40]
    assert "loss 0.693" in shown[80]
    assert "|grad|" not in shown[80]
    assert "loss 0.693  E data -1.23e+03  E model 4.56  |grad| 0.789" in shown[200]
    assert "steps/s" in shown[200]


def test_a_resumed_run_begins_at_its_step():
    terminal = Terminal(RUN.replace("step = 0\n", "step = 150000\n"), 80)
    terminal.wait_for(r"left")
    terminal.type("\x03")
    terminal.end()
    assert re.search(r"15\d\d\d\d/200000", "".join(terminal.screen()))


TABLE = """
from types import SimpleNamespace
from rich.console import Console
from ebmkit import load_spec
from ebmkit.cli.terminal import results_table

expect = [{"metric": "mmd", "below": 0.1}]
plan = load_spec({"ebmkit": 1, "data": "two_moons", "model": {"use": "gaussian", "mean": [0, 0]},
                  "sampler": "exact", "evaluate": ["mmd"], "expect": expect})
console = Console()
record = SimpleNamespace(plan=plan, results={"mmd": 0.01, "mmd_floor": -0.002}, failed=[])
console.print(results_table(record, console))
"""


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_results_are_explained_next_to_them_or_below(columns):
    terminal = Terminal(TABLE, columns)
    assert terminal.end() == 0
    lines = [line for line in terminal.screen() if line.strip()]
    words = "which a good model reaches"
    assert words in " ".join(" ".join(lines).split())
    (row,) = [line for line in lines if line.startswith("mmd_floor ")]
    assert "-0.002" in row
    assert (words in row) == (columns == 160)
    assert all(len(line) <= columns for line in lines)
