"""All runs of a folder in one SQLite file: a tracker, a panel and commands for ebmkit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.api import Panel, hookimpl
from ebmkit_sqlite.database import FILE, known_run
from ebmkit_sqlite.tracker import SQLite, open_log

if TYPE_CHECKING:
    import click

    from ebmkit.api import View

__all__ = ["SQLite"]

#: The version of `ebmkit.api` that this was written for.
EBMKIT_API = 1


@hookimpl
def ebmkit_run_started(view: View, folder: Path) -> None:
    """Note where the run computes."""
    if log := open_log(folder):
        log.event(view.step, "started", f"{view.device}, {str(view.dtype).removeprefix('torch.')}")


@hookimpl
def ebmkit_step_ended(view: View, step: int) -> None:
    """Let other processes see how far the run is, every few seconds."""
    if log := open_log(view.folder):
        log.beat(step)


@hookimpl
def ebmkit_checkpoint_saved(view: View, path: Path) -> None:
    """Note the checkpoint."""
    if log := open_log(view.folder):
        log.event(view.step, "checkpoint", path.name)


@hookimpl
def ebmkit_run_finished(view: View, results: dict[str, float]) -> None:
    """Note that everything was measured."""
    if log := open_log(view.folder):
        log.event(view.step, "measured", ", ".join(results))


@hookimpl
def ebmkit_report_panels(view: View) -> Sequence[Panel]:
    """The loss of this run and of earlier ones in the same file."""
    if view.folder is None or not known_run(view.folder.parents[1] / FILE, view.folder) or "loss" not in view.series:
        return []
    from ebmkit_sqlite.panel import draw_losses

    return [Panel("losses", "Loss of this run and of earlier ones", draw_losses, wide=True)]


@hookimpl
def ebmkit_commands() -> Sequence[click.Command]:
    """`ebmkit sqlite best`, `pictures`, `query` and `runs`."""
    from ebmkit_sqlite.commands import COMMANDS

    return COMMANDS
