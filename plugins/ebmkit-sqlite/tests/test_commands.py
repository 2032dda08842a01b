"""The commands, and the panel, on a file with three runs."""

import pytest
from click.testing import CliRunner
from ebmkit_sqlite import SQLite, ebmkit_commands, ebmkit_report_panels
from ebmkit_sqlite.database import FILE
from matplotlib.figure import Figure

from ebmkit.testing import tracked_run

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def runs(tmp_path):
    """Three runs; the last one is not finished."""
    for number, mmd in enumerate((0.3, 0.1, None)):
        folder = tmp_path / f"runs/tracked/2026010{number}T000000Z-00000000"
        folder.mkdir(parents=True)
        log = SQLite().open(tracked_run(folder))
        for step in (1, 2):
            log.write(step, {"loss": 3.0 - number + 1 / step})
        log.picture(2, "samples", PNG)
        if mmd is not None:
            log.finish({"mmd": mmd, "accuracy": 1 - mmd})
        log.close()
    return tmp_path / "runs"


@pytest.fixture
def sqlite(runs):
    commands = {command.name: command for command in ebmkit_commands()}

    def sqlite(name, *words, status=0):
        done = CliRunner().invoke(commands[name], [*words, "--file", str(runs / FILE)])
        assert done.exit_code == status, done.output
        return done.output

    return sqlite


def column(text, number):
    return [line.split("\t")[number] for line in text.splitlines()[1:]]


def test_best_lists_the_lowest_or_the_highest_first(sqlite):
    assert column(sqlite("best", "mmd"), 0) == ["0.1", "0.3"]
    assert column(sqlite("best", "accuracy", "--highest", "-n", "1"), 0) == ["0.9"]
    assert column(sqlite("best", "mmd"), 1)[0] == "tracked/20260101T000000Z-00000000"


def test_an_unknown_metric_is_an_error_that_names_those_that_exist(sqlite):
    assert "no finished run has 'mdm'; there are: accuracy, mmd" in sqlite("best", "mdm", status=1)


def test_runs_are_listed_the_latest_first(sqlite):
    text = sqlite("runs")
    assert text.splitlines()[0].split("\t") == ["folder", "seed", "step", "steps", "seen", "finished"]
    assert column(text, 0) == [f"tracked/2026010{number}T000000Z-00000000" for number in (2, 1, 0)]
    assert [bool(when) for when in column(text, 5)] == [False, True, True]


def test_queries_answer_and_change_nothing(sqlite):
    assert sqlite("query", "SELECT count(*) AS many FROM numbers") == "many\n6\n"
    assert "readonly" in sqlite("query", "DELETE FROM numbers", status=1)
    assert "no such column" in sqlite("query", "SELECT lose FROM numbers", status=1)
    assert sqlite("query", "SELECT count(*) FROM numbers").splitlines()[1] == "6"


def test_pictures_are_written_as_files(sqlite, tmp_path):
    folder = "tracked/20260101T000000Z-00000000"
    assert "1 pictures" in sqlite("pictures", folder, "--out", str(tmp_path / "out"))
    assert (tmp_path / "out/samples-000002.png").read_bytes() == PNG
    assert "no pictures of a run 'else'" in sqlite("pictures", "else", "--out", str(tmp_path / "out"), status=1)


def test_a_missing_file_is_named(sqlite, runs):
    (runs / FILE).unlink()
    assert "does not exist" in sqlite("runs", status=1)


class Seen:
    """The part of a view that the panel reads."""

    def __init__(self, folder, loss):
        self.folder, self.series = folder, {"loss": loss} if loss else {}


def test_the_panel_compares_with_earlier_runs_only(runs):
    view = Seen(runs / "tracked/20260101T000000Z-00000000", [(1, 3.0), (2, 2.5)])
    (panel,) = ebmkit_report_panels(view)
    axes = Figure().subplots()
    assert panel.draw(axes, view) == (
        "Last loss 2.5, number 1 from below among this and one earlier run of this name (grey)."
    )
    assert [line.get_ydata().tolist() for line in axes.lines] == [[4.0, 3.5], [3.0, 2.5]]
    first = Seen(runs / "tracked/20260100T000000Z-00000000", [(1, 4.0)])
    assert "no earlier run" in panel.draw(Figure().subplots(), first)


def test_runs_without_the_tracker_have_no_panel(runs, tmp_path):
    assert ebmkit_report_panels(Seen(runs / "tracked/other", [(1, 3.0)])) == []
    assert ebmkit_report_panels(Seen(tmp_path / "else/where/run", [(1, 3.0)])) == []
    assert ebmkit_report_panels(Seen(None, [(1, 3.0)])) == []
    assert ebmkit_report_panels(Seen(runs / "tracked/20260101T000000Z-00000000", [])) == []
