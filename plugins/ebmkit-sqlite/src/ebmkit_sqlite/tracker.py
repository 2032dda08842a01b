"""The tracker, and the logs that are open in this process."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ebmkit.api import Log, TrackedRun, Tracker, component
from ebmkit_sqlite.database import FILE, connect, relative, transaction

#: Measurements are collected, and written together: at each checkpoint, and after this many or this many seconds.
ROWS, SECONDS = 500, 5.0

#: The open logs by the folders of their runs, for the hooks, which hear of runs that have no such tracker too.
_OPEN: dict[Path, RunLog] = {}


def open_log(folder: Path | None) -> RunLog | None:
    """The log of a run that this process is recording."""
    return _OPEN.get(folder) if folder is not None else None


class RunLog(Log):
    """Records one run."""

    def __init__(self, run: TrackedRun) -> None:
        self.folder = run.folder
        self._rows: list[tuple[int, str, int, float]] = []
        self._step = run.step
        self._written = time.monotonic()
        self._connection = connect(run.folder.parents[1] / FILE)
        try:
            with transaction(self._connection):
                self._run = _row_of(self._connection, run)
        except BaseException:
            self._connection.close()
            raise
        _OPEN[run.folder] = self

    def write(self, step: int, values: dict[str, float]) -> None:
        self._step = max(self._step, step)
        self._rows += [(self._run, name, step, float(value)) for name, value in values.items()]
        if len(self._rows) >= ROWS:
            self.sync()

    def picture(self, step: int, name: str, png: bytes) -> None:
        with transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", (self._run, name, step, png)
            )

    def finish(self, results: Mapping[str, float]) -> None:
        self.sync()
        with transaction(self._connection):
            self._connection.execute("DELETE FROM results WHERE run = ?", (self._run,))
            rows = [(self._run, name, float(value)) for name, value in results.items()]
            self._connection.executemany("INSERT INTO results VALUES (?, ?, ?)", rows)
            self._connection.execute("UPDATE runs SET finished = ? WHERE run = ?", (_now(), self._run))

    def event(self, step: int, event: str, detail: str) -> None:
        """Record that something happened."""
        row = (self._run, step, _now(), event, detail)
        with transaction(self._connection):
            self._connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row)

    def beat(self, step: int) -> None:
        """The run is at this step: written every few seconds only, since a step may take less than a transaction."""
        self._step = step
        if time.monotonic() - self._written >= SECONDS:
            self.sync()

    def sync(self) -> None:
        with transaction(self._connection):
            self._connection.executemany("INSERT OR REPLACE INTO numbers VALUES (?, ?, ?, ?)", self._rows)
            here = (_now(), self._step, self._run)
            self._connection.execute("UPDATE runs SET seen = ?, step = ? WHERE run = ?", here)
        self._rows.clear()
        self._written = time.monotonic()

    def close(self) -> None:
        _OPEN.pop(self.folder, None)
        try:
            self.sync()
        finally:
            self._connection.close()


def _row_of(connection: sqlite3.Connection, run: TrackedRun) -> int:
    """The number of the run in the file. What was recorded after the checkpoint of a resumed run is replaced."""
    spec = json.dumps(run.spec, sort_keys=True, default=str)
    now, folder = _now(), relative(run.folder)
    connection.execute(
        "INSERT INTO runs (folder, name, hash, seed, steps, spec, started, seen, step)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (folder) DO UPDATE SET"
        " hash = excluded.hash, spec = excluded.spec, seen = excluded.seen, step = excluded.step, finished = NULL",
        (folder, run.name, run.hash, run.seed, run.steps, spec, now, now, run.step),
    )
    (number,) = connection.execute("SELECT run FROM runs WHERE folder = ?", (folder,)).fetchone()
    # All measurements are at hand. Pictures up to the checkpoint stay.
    connection.execute("DELETE FROM numbers WHERE run = ?", (number,))
    connection.execute("DELETE FROM results WHERE run = ?", (number,))
    connection.execute("DELETE FROM pictures WHERE run = ? AND step > ?", (number, run.step))
    rows = [(number, name, step, float(value)) for step, values in run.records for name, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO numbers VALUES (?, ?, ?, ?)", rows)
    return int(number)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@component("database")
class SQLite(Tracker):
    """SQLite tracker: measurements, pictures, specs and results of all runs of a folder in one file, `runs.sqlite`.

        ebmkit sqlite best sliced_wasserstein
        ebmkit sqlite query "SELECT name, value FROM runs JOIN results USING (run)"

    The file is next to the folders of the runs, `runs/runs.sqlite` by default. Several processes can write to it, and
    any can read it while runs continue. A resumed run replaces the steps that it repeats. The report compares the loss
    of the run with those of earlier ones. Use `jsonl` too: the report reads `metrics.jsonl`.

    Reference: https://sqlite.org.

    Example: trackers: [jsonl, sqlite.database]
    """

    def open(self, run: TrackedRun) -> RunLog:
        return RunLog(run)
