"""`ebmkit runs`: list runs."""

from __future__ import annotations

import csv
import io
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import error_options
from ebmkit.cli.grid import Cell, Grid, print_grid
from ebmkit.cli.output import echo, echo_json
from ebmkit.cli.store_options import chosen_runs, runs_argument, where_option
from ebmkit.store.columns import Value, order, result_columns, value_of

if TYPE_CHECKING:
    from ebmkit.store.entry import Entry

#: Colours of statuses on a terminal.
STYLES = {
    "finished": "green",
    "running": "yellow",
    "paused": "yellow",
    "interrupted": "yellow",
    "diverged": "red",
    "failed": "red",
    "killed": "red",
    "damaged": "red",
    "old format": "yellow",
    "newer format": "yellow",
}
#: The columns of a file of comma-separated values before the results, if none are named.
PLAIN = ("run", "status", "step", "steps", "started", "seconds")


@click.command("runs")
@runs_argument
@where_option
@click.option("--sort", metavar="COLUMN", help="Sort by a column, in descending order with a minus: --sort=-seconds.")
@click.option("--columns", metavar="A,B", help="The columns to show: fields, results, and paths of the spec.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@error_options
def command(
    runs_dir: Path, where: tuple[str, ...], sort: str | None, columns: str | None, as_csv: bool, as_json: bool
) -> None:
    """List the runs in RUNS_DIR (`runs` by default), the newest last: status, steps, results, age.

    Columns are fields of a run (run, name, status, step, steps, seed, started, seconds, verdict, hash, error), results
    by their names, and parameters by their paths in the spec, such as objective or train.optimizer.lr.
    """
    named = [name.strip() for name in (columns or "").split(",") if name.strip()]
    by = (sort or "").removeprefix("-")
    rows, everything = chosen_runs(runs_dir, where, also=[*named, *([by] if by else [])])
    if by:
        rows = order(rows, by, descending=str(sort).startswith("-"))
    if as_csv:
        echo(_csv(rows, named or [*PLAIN, *result_columns(rows)]), nl=False)
    elif as_json:
        echo_json(_json(rows, named), indent=None)
    elif not rows:
        at_all = "no runs" if not everything else f"none of {len(everything):,} runs satisfies the conditions"
        echo(f"{at_all} in {runs_dir}" + ("" if everything else "; 'ebmkit run quickstart' makes one"))
    else:
        print_grid(partial(_columns, rows, named) if named else partial(_overview, rows))


def _json(rows: list[Entry], named: list[str]) -> list[dict[str, object]]:
    if not named:
        return [entry.plain() for entry in rows]
    return [{"run": str(entry.folder), **{name: value_of(entry, name) for name in named}} for entry in rows]


def _csv(rows: list[Entry], named: list[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(named)
    writer.writerows([value_of(entry, name) for name in named] for entry in rows)
    return text.getvalue()


def _columns(rows: list[Entry], named: list[str], compact: bool) -> Grid:
    shown = named if "run" in named else ["run", *named]
    return Grid(shown, [[_shown(entry, name, compact) for name in shown] for entry in rows])


def _shown(entry: Entry, name: str, compact: bool) -> Cell:
    if name == "run":
        return Cell(_where(entry.folder, compact))
    value: Value = value_of(entry, name)
    if name == "status":
        return _status(entry)
    return Cell("-" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value))


def _overview(rows: list[Entry], compact: bool) -> Grid:
    return Grid(("run", "status", "step", "age", "results"), [_row(entry, compact) for entry in rows])


def _row(entry: Entry, compact: bool) -> list[Cell]:
    summary = entry.summary
    steps = f"{summary['step']}/{summary['steps']}" if summary.get("steps") else "-"
    where, results = _where(entry.folder, compact), _results(entry, compact)
    return [Cell(where), _status(entry), Cell(steps), Cell(_age(summary["started"])), Cell(results)]


def _status(entry: Entry) -> Cell:
    return Cell(entry.status, STYLES.get(entry.status, ""))


def _where(folder: Path, compact: bool) -> str:
    """The path; one that is too long is split into two lines, with the name of the run on the second."""
    return f"{folder.parent}{os.sep}\n{folder.name}" if compact else str(folder)


def _results(entry: Entry, compact: bool) -> str:
    """The first three results, and what failed; or the reason why there are none."""
    results = [f"{name} {value:.4g}" for name, value in list(entry.results.items())[:3]]
    results += [f"{failure.get('what')} failed" for failure in entry.summary.get("failed", [])]
    return ("\n" if compact else "  ").join(results) or " ".join(str(entry.summary.get("error", "")).split())


def _age(started: str) -> str:
    if not started:
        return "-"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(started).astimezone(UTC)).total_seconds()
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
