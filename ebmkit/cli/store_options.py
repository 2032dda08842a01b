"""Shared by verbs on many runs: where they are, and which of them are meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ebmkit.store.columns import UnknownColumn, require_known
from ebmkit.store.condition import Condition
from ebmkit.store.entry import Entry, entries

F = TypeVar("F", bound=Callable[..., Any])

#: Where runs are written by default. Before the first run there is no such folder.
RUNS = "runs"


def runs_argument(function: F) -> F:
    """RUNS_DIR, a folder with runs at any depth."""
    return click.argument("runs_dir", type=click.Path(path_type=Path), default=RUNS)(function)


def where_option(function: F) -> F:
    """`--where CONDITION`, repeatable."""
    return click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        help="Only runs with objective=nce, kl_divergence<0.1, status!=finished, ...; all of several. Repeatable.",
    )(function)


def chosen_runs(runs_dir: Path, where: Sequence[str], also: Sequence[str] = ()) -> tuple[list[Entry], list[Entry]]:
    """The runs that satisfy the conditions, and all runs. `also` are further columns that have to be known."""
    if not runs_dir.is_dir() and runs_dir != Path(RUNS):
        raise click.UsageError(f"there is no folder {runs_dir}")
    found = entries(runs_dir)
    try:
        conditions = [Condition.parse(text) for text in where]
        require_known([*(condition.column for condition in conditions), *also], found)
    except UnknownColumn as error:
        raise click.UsageError(str(error)) from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--where'") from error
    return [entry for entry in found if all(condition.holds(entry) for condition in conditions)], found
