"""`ebmkit runs`: what runs there are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ebmkit.cli.common import error_options
from ebmkit.engine.folder.record import read_summary
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.run_lock import is_locked


@click.command("runs")
@click.argument("runs_dir", type=click.Path(path_type=Path), default="runs")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@error_options
def command(runs_dir: Path, as_json: bool) -> None:
    """What runs there are in RUNS_DIR (`runs` by default), the newest last: status, steps, results, age."""
    rows = [_row(path.parent) for path in sorted(runs_dir.glob("**/run.json"))]
    rows.sort(key=lambda row: str(row["started"]))
    if as_json:
        click.echo(json.dumps(rows))
        return
    if not rows:
        click.echo(f"no runs in {runs_dir}; 'ebmkit run quickstart' makes one")
        return
    table = [("run", "status", "step", "age", "results"), *map(_cells, rows)]
    wide = [max(len(line[column]) for line in table) for column in range(4)]
    for line in table:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(line, wide, strict=False)), line[4]]).rstrip())


def _row(folder: Path) -> dict[str, Any]:
    try:
        summary = read_summary(folder)
    except StorageFailed as error:
        return {"folder": str(folder), "status": "damaged", "started": "", "error": error.message, "results": {}}
    if summary["status"] == "running" and not is_locked(folder):
        summary["status"] = "killed"  # it had no time to say so
    return {"folder": str(folder), **summary}


def _cells(row: dict[str, Any]) -> tuple[str, str, str, str, str]:
    results = "  ".join(f"{name} {value:.4g}" for name, value in list(row["results"].items())[:3])
    steps = f"{row['step']}/{row['steps']}" if row.get("steps") else "-"
    return row["folder"], row["status"], steps, _age(row["started"]), results or row.get("error", "")[:60]


def _age(started: str) -> str:
    if not started:
        return "-"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
