"""The database: one file for all runs in a folder of runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

#: The name of the file, in the folder that contains the folders of all runs.
FILE = "runs.sqlite"
#: Seconds that a process waits for another one that writes.
PATIENCE = 60.0

#: A run is known by its folder relative to the file, so that both can be moved together.
SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY,
    folder TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    seed INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    spec TEXT NOT NULL,            -- JSON, with every default
    started TEXT NOT NULL,
    seen TEXT NOT NULL,            -- when it was last heard of
    step INTEGER NOT NULL,         -- and at which step
    finished TEXT
);
CREATE TABLE IF NOT EXISTS numbers (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    name TEXT NOT NULL,
    step INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (run, name, step)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pictures (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    name TEXT NOT NULL,
    step INTEGER NOT NULL,
    png BLOB NOT NULL,
    PRIMARY KEY (run, name, step)
);
CREATE TABLE IF NOT EXISTS results (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    name TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    step INTEGER NOT NULL,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_run ON events (run);
"""


def connect(path: Path) -> sqlite3.Connection:
    """A connection for writing; the file and its tables are created. Transactions are begun explicitly."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # what is committed survives a loss of power
    with transaction(connection):
        for statement in SCHEMA.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing, and lock out other writers from the beginning: none has to give up halfway."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot change the file."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


def relative(folder: Path) -> str:
    """The folder of a run as the database knows it: `name/time-hash`."""
    return f"{folder.parent.name}/{folder.name}"


def known_run(path: Path, folder: Path) -> bool:
    """Whether a file has this run."""
    if not path.is_file():
        return False
    with reading(path) as connection:
        found = connection.execute("SELECT 1 FROM runs WHERE folder = ?", (relative(folder),)).fetchone()
    return found is not None
