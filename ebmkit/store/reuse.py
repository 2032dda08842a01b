"""An earlier run that computes the same as a plan."""

from __future__ import annotations

from pathlib import Path

from ebmkit.engine.folder.locked import conditions_changed
from ebmkit.errors.running import StorageFailed
from ebmkit.language.plan import Plan
from ebmkit.store.entry import KILLED, Entry, of_hash

#: The statuses of runs that can be continued.
UNFINISHED = ("running", "paused", "interrupted", KILLED)


def finished_run(plan: Plan, runs_dir: Path) -> Entry | None:
    """The newest finished run of the same hash that was made with the same versions, plugins and data."""
    return _earlier(plan, runs_dir, ("finished",))


def unfinished_run(plan: Plan, runs_dir: Path) -> Entry | None:
    """The newest such run that can be continued."""
    return _earlier(plan, runs_dir, UNFINISHED)


def _earlier(plan: Plan, runs_dir: Path, statuses: tuple[str, ...]) -> Entry | None:
    for entry in of_hash(runs_dir, plan.hash):
        if entry.status in statuses and not entry.summary["failed"] and _is_the_same(entry, plan):
            return entry
    return None


def _is_the_same(entry: Entry, plan: Plan) -> bool:
    try:
        return not conditions_changed(entry.folder, plan)
    except StorageFailed:  # its lock cannot be read
        return False
