"""The tracker against the laws of its kind, and against what is in the file."""

import sqlite3
import threading
from contextlib import closing

import pytest
from ebmkit_sqlite import SQLite, ebmkit_checkpoint_saved, ebmkit_step_ended
from ebmkit_sqlite.database import FILE
from ebmkit_sqlite.tracker import ROWS, open_log

from ebmkit.testing import tracked_run, trials

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("trial", trials([SQLite]), ids=str)
def test_law(trial):
    trial.run()


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def folder(runs):
    """A maker of run folders."""

    def folder(name="tracked/20260101T000000Z-00000000"):
        (runs / name).mkdir(parents=True, exist_ok=True)
        return runs / name

    return folder


@pytest.fixture
def rows(runs):
    """The rows of a query."""

    def rows(query):
        with closing(sqlite3.connect(runs / FILE)) as connection:
            return connection.execute(query).fetchall()

    return rows


def test_everything_is_in_the_file(folder, rows):
    log = SQLite().open(tracked_run(folder()))
    log.write(1, {"loss": 0.1 + 0.2, "log_z": -3.5})
    log.picture(1, "samples", PNG + b"1")
    log.write(2, {"loss": 5e-324})
    log.finish({"mmd": 0.25})
    log.close()
    assert rows("SELECT name, step, value FROM numbers ORDER BY name, step") == [
        ("log_z", 1, -3.5),
        ("loss", 1, 0.1 + 0.2),
        ("loss", 2, 5e-324),
    ]
    assert rows("SELECT name, step, png FROM pictures") == [("samples", 1, PNG + b"1")]
    assert rows("SELECT name, value FROM results") == [("mmd", 0.25)]
    ((name, seed, step, finished, use),) = rows(
        "SELECT name, seed, step, finished, json_extract(spec, '$.model.use') FROM runs"
    )
    assert (name, seed, step, finished is not None, use) == ("tracked", 0, 2, True, "mlp")


def test_a_resumed_run_replaces_what_it_repeats(folder, rows):
    """Killed at step 7 after a checkpoint at step 5; the last record is of step 4."""
    log = SQLite().open(tracked_run(folder()))
    for step in (2, 4, 6):
        log.write(step, {"loss": 99.0})
    for step in (3, 5, 7):
        log.picture(step, "samples", PNG + b"before")
    log.finish({"mmd": 1.0})
    log.close()
    log = SQLite().open(tracked_run(folder(), [(2, {"loss": 2.0}), (4, {"loss": 4.0})], step=5))
    assert rows("SELECT step, value FROM numbers ORDER BY step") == [(2, 2.0), (4, 4.0)]
    assert rows("SELECT step FROM pictures ORDER BY step") == [(3,), (5,)]
    assert rows("SELECT * FROM results") == []
    log.picture(5, "samples", PNG + b"after")
    log.write(6, {"loss": 6.0})
    log.close()
    assert rows("SELECT step, value FROM numbers ORDER BY step") == [(2, 2.0), (4, 4.0), (6, 6.0)]
    assert rows("SELECT step, png FROM pictures ORDER BY step") == [(3, PNG + b"before"), (5, PNG + b"after")]
    assert rows("SELECT count(*), max(finished) FROM runs") == [(1, None)]


def test_what_is_synced_is_seen_by_others_and_the_rest_soon(folder, rows):
    log = SQLite().open(tracked_run(folder()))
    log.write(1, {"loss": 1.0})
    assert rows("SELECT * FROM numbers") == []
    log.sync()
    assert rows("SELECT step FROM numbers") == [(1,)]
    log.write(2, {f"n{k}": 1.0 for k in range(ROWS)})
    assert rows("SELECT count(*) FROM numbers") == [(1 + ROWS,)]
    log.close()


def test_many_runs_write_at_the_same_time(folder, rows):
    """Each in a thread with a connection of its own, as processes do."""
    failures = []

    def record(number):
        try:
            log = SQLite().open(tracked_run(folder(f"many/2026-{number}")))
            for step in range(1, 31):
                log.write(step, {"loss": float(number)})
                log.sync()
            log.close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rows("SELECT count(*) FROM runs") == [(4,)]
    assert rows("SELECT count(*), min(value), max(value) FROM numbers") == [(120, 0.0, 3.0)]


class Seen:
    """The part of a view that the hooks read."""

    step = 3

    def __init__(self, folder):
        self.folder = folder


def test_hooks_write_for_recorded_runs_only(folder, rows, monkeypatch):
    here, elsewhere = folder("tracked/1"), folder("other/2")
    log = SQLite().open(tracked_run(here))
    assert open_log(here) is log
    for path in (here, elsewhere, None):
        ebmkit_checkpoint_saved(Seen(path), here / "step-000003")
    assert rows("SELECT step, event, detail FROM events") == [(3, "checkpoint", "step-000003")]
    ebmkit_step_ended(Seen(here), 7)
    assert rows("SELECT step FROM runs") == [(0,)]  # not at every step
    monkeypatch.setattr("ebmkit_sqlite.tracker.SECONDS", 0.0)
    ebmkit_step_ended(Seen(here), 8)
    assert rows("SELECT step FROM runs") == [(8,)]
    log.close()
    assert open_log(here) is None
    ebmkit_checkpoint_saved(Seen(here), here / "step-000009")
    assert rows("SELECT count(*) FROM events") == [(1,)]


def test_runs_are_known_by_their_place_relative_to_the_file(folder, runs, rows, tmp_path):
    SQLite().open(tracked_run(folder())).close()
    moved = tmp_path / "moved"
    runs.rename(moved)
    inside = moved / "tracked/20260101T000000Z-00000000"
    log = SQLite().open(tracked_run(inside, step=1))
    log.close()
    moved.rename(runs)
    assert rows("SELECT folder FROM runs") == [("tracked/20260101T000000Z-00000000",)]
