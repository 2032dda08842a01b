"""`ebmkit prune`: remove runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from ebmkit.cli.common import Duration, error_options
from ebmkit.cli.output import echo, echo_json
from ebmkit.cli.store_options import chosen_runs, runs_argument, where_option
from ebmkit.store.entry import Entry
from ebmkit.store.removal import remove, size_of


@click.command("prune")
@runs_argument
@where_option
@click.option("--older-than", type=Duration(), metavar="T", help="Only runs that began this long ago, such as 30d.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list of what was removed; needs --yes or --dry-run."
)
@error_options
def command(
    runs_dir: Path, where: tuple[str, ...], older_than: float | None, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Remove the runs in RUNS_DIR (`runs` by default) that satisfy conditions, after listing them and asking.

    A run at which a process is working is never removed.
    """
    if not where and older_than is None:
        raise click.UsageError("name the runs to remove: --where status=diverged, --older-than 30d, ...")
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json needs --yes or --dry-run")
    chosen, _ = chosen_runs(runs_dir, where)
    meant = [entry for entry in chosen if older_than is None or _age(entry) > timedelta(seconds=older_than)]
    running = [entry for entry in meant if entry.status == "running"]
    doomed = {entry: size_of(entry.folder) for entry in meant if entry not in running}
    if not as_json:
        _say(doomed, running)
    if doomed and not dry_run and (yes or click.confirm(f"Remove {_several(len(doomed))}?", default=False, err=True)):
        for entry in doomed:
            remove(entry, runs_dir)
    if as_json:
        echo_json([{"folder": str(entry.folder), "bytes": size} for entry, size in doomed.items()], indent=None)


def _say(doomed: dict[Entry, int], running: list[Entry]) -> None:
    for entry, size in doomed.items():
        echo(f"{entry.folder}  {entry.status}  {size / 1e6:.1f} MB")
    for entry in running:
        echo(f"{entry.folder}  is running, so it is kept", err=True)
    echo(f"{_several(len(doomed))}, {sum(doomed.values()) / 1e6:.1f} MB")


def _several(count: int) -> str:
    return f"{count:,} run" if count == 1 else f"{count:,} runs"


def _age(entry: Entry) -> timedelta:
    """The time since a run began; none if it is not known."""
    started = str(entry.summary["started"])
    return datetime.now(UTC) - datetime.fromisoformat(started).astimezone(UTC) if started else timedelta()
