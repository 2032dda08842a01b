"""Commands that read the file: `ebmkit sqlite COMMAND`."""

from __future__ import annotations

import csv
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from ebmkit_sqlite.database import FILE, reading

_file = click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("runs") / FILE,
    show_default=True,
    help="The database.",
)


def _rows(path: Path, query: str, values: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and the rows of a query."""
    if not path.is_file():
        raise click.ClickException(f"{path} does not exist: name the database of another folder of runs with --file")
    try:
        with reading(path) as connection:
            cursor = connection.execute(query, values)
            return [column[0] for column in cursor.description or ()], cursor.fetchall()
    except sqlite3.Error as error:
        raise click.ClickException(f"{path}: {error}") from error


def _print(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Columns separated by tabs, as other programs read them."""
    table = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    table.writerow(columns)
    table.writerows(["" if cell is None else cell for cell in row] for row in rows)


@click.command("runs")
@_file
def runs(path: Path) -> None:
    """List the runs, the latest first."""
    query = "SELECT folder, seed, step, steps, seen, finished FROM runs ORDER BY started DESC, run DESC"
    _print(*_rows(path, query))


@click.command("best")
@click.argument("metric")
@click.option("--highest", is_flag=True, help="The highest value is the best; by default the lowest.")
@click.option("-n", "count", type=click.IntRange(1), default=10, show_default=True, help="Number of runs.")
@_file
def best(metric: str, highest: bool, count: int, path: Path) -> None:
    """List the finished runs with the best final METRIC."""
    query = (
        "SELECT value, folder, seed, substr(hash, 1, 8) AS hash FROM results JOIN runs USING (run)"
        f" WHERE results.name = ? ORDER BY value {'DESC' if highest else 'ASC'}, folder LIMIT ?"
    )
    columns, found = _rows(path, query, (metric, count))
    if not found:
        known = [name for (name,) in _rows(path, "SELECT DISTINCT name FROM results ORDER BY name")[1]]
        raise click.ClickException(f"no finished run has '{metric}'; there are: {', '.join(known) or 'no results'}")
    _print([metric, *columns[1:]], found)


@click.command("query")
@click.argument("sql")
@_file
def query(sql: str, path: Path) -> None:
    """Print the answer to a query in SQL, which cannot change the file.

    The tables are runs, numbers, results, pictures and events.
    """
    _print(*_rows(path, sql))


@click.command("pictures")
@click.argument("folder")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where to write them.")
@_file
def pictures(folder: str, out: Path, path: Path) -> None:
    """Write the pictures of a run as PNG files. FOLDER is that of `ebmkit sqlite runs`."""
    query = "SELECT pictures.name, pictures.step, png FROM pictures JOIN runs USING (run) WHERE folder = ?"
    _, found = _rows(path, query, (folder,))
    if not found:
        raise click.ClickException(f"{path} has no pictures of a run '{folder}'")
    out.mkdir(parents=True, exist_ok=True)
    for name, step, png in found:
        (out / f"{name}-{step:06d}.png").write_bytes(png)
    click.echo(f"{len(found)} pictures in {out}")


COMMANDS: list[click.Command] = [best, pictures, query, runs]
