"""`run --reuse`: a finished run that computes the same, in place of a new one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.output import echo, echo_json
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import ExpectationUnmet
from ebmkit.store.reuse import finished_run

if TYPE_CHECKING:
    from ebmkit.language.plan import Plan
    from ebmkit.store.entry import Entry


def took_finished(plan: Plan, runs_dir: Path, *, quiet: bool, as_json: bool) -> bool:
    """Whether a finished run takes the place of a new one. It ends as that run did: a claim that does not hold is an
    error."""
    entry = finished_run(plan, runs_dir)
    if entry is None:
        return False
    _say(entry, quiet=quiet, as_json=as_json)
    if unmet := entry.summary["unmet"]:
        raise Mistakes(ExpectationUnmet(message, plan.place(("expect",))) for message in unmet)
    return True


def _say(entry: Entry, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        echo_json({**entry.plain(), "reused": True}, indent=None)
    elif quiet:
        click.echo(os.fsencode(entry.folder))  # for programs: the exact bytes of the name
    else:
        for name, value in entry.results.items():
            echo(f"{name}  {value:.5g}")
        echo(f"\nmade {entry.summary['started'][:10]}, with the same versions, plugins and data")
        echo(f"results  {entry.folder}")
