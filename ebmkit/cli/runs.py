"""`ebmkit runs`: list runs."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import error_options
from ebmkit.cli.output import echo, echo_json
from ebmkit.engine.folder.finding import find_runs
from ebmkit.engine.folder.run_format import OtherFormat
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.run_lock import is_locked

if TYPE_CHECKING:
    from rich.table import Table

#: Where runs are written by default. Before the first run there is no such folder.
RUNS = "runs"

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


@click.command("runs")
@click.argument("runs_dir", type=click.Path(path_type=Path), default=RUNS)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@error_options
def command(runs_dir: Path, as_json: bool) -> None:
    """List the runs in RUNS_DIR (`runs` by default), the newest last: status, steps, results, age."""
    if not runs_dir.is_dir() and runs_dir != Path(RUNS):
        raise click.UsageError(f"there is no folder {runs_dir}")
    rows = [_row(run) for run in sorted(find_runs(runs_dir))]
    rows.sort(key=lambda row: str(row["started"]))
    if as_json:
        echo_json(rows, indent=None)
        return
    if not rows:
        echo(f"no runs in {runs_dir}; 'ebmkit run quickstart' makes one")
        return
    from ebmkit.cli.tables import print_table  # rich, which --json does not need

    print_table(partial(_table, rows))


def _table(rows: list[dict[str, Any]], compact: bool) -> Table:
    from ebmkit.cli.tables import cell, plain_table

    table = plain_table(("run", "status", "step", "age", "results"))
    for row in rows:
        status = str(row["status"])
        steps = f"{row['step']}/{row['steps']}" if row.get("steps") else "-"
        folder = Path(row["folder"])
        # A path that is too long is split into two lines, with the name of the run on the second.
        where = f"{folder.parent}{os.sep}\n{folder.name}" if compact else str(folder)
        shown = cell(status, STYLES.get(status, ""))
        table.add_row(cell(where), shown, steps, _age(row["started"]), cell(_results(row, compact)))
    return table


def _row(folder: Path) -> dict[str, Any]:
    try:
        summary = read_summary(folder)
    except StorageFailed as error:
        status, why = "damaged", error.message
        if isinstance(error, OtherFormat):
            status, why = error.status, "made by another ebmkit: run its spec.yaml again"
        return {"folder": str(folder), "status": status, "started": "", "error": why, "results": {}}
    if summary["status"] == "running" and not is_locked(folder):
        summary["status"] = "killed"  # it could not record its end
    return {"folder": str(folder), **summary}


def _results(row: dict[str, Any], compact: bool) -> str:
    """The first three results, and what failed; or the reason why there are none."""
    results = [f"{name} {value:.4g}" for name, value in list(row["results"].items())[:3]]
    results += [f"{failure.get('what')} failed" for failure in row.get("failed", [])]
    return ("\n" if compact else "  ").join(results) or " ".join(str(row.get("error", "")).split())


def _age(started: str) -> str:
    if not started:
        return "-"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(started).astimezone(UTC)).total_seconds()
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
