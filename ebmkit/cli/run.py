"""`ebmkit run SPEC`: run an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import limit_options, load_plan, report_option, spec_options, watch_options
from ebmkit.cli.earlier import took_finished
from ebmkit.cli.one_process import refuse_several_processes
from ebmkit.cli.output import echo
from ebmkit.cli.resume import continue_run
from ebmkit.engine.folder.locked import require_locked, require_plan_locked
from ebmkit.engine.torch_needed import require_torch
from ebmkit.errors.base import Mistakes
from ebmkit.errors.source import Source
from ebmkit.store.reuse import unfinished_run

if TYPE_CHECKING:
    from ebmkit.engine.limit import Limit
    from ebmkit.language.plan import Plan

runs_dir_option = click.option(
    "--runs-dir", type=click.Path(path_type=Path), default="runs", show_default=True, help="Folder for runs."
)


@click.command("run")
@spec_options
@runs_dir_option
@click.option("--device", metavar="D", help="The same as --set device=D.")
@click.option(
    "--locked",
    type=click.Path(exists=True, path_type=Path),
    metavar="LOCK",
    help="The lock.yaml of a run, or its folder: refuse other versions of ebmkit, torch and plugins.",
)
@click.option("--reuse", is_flag=True, help="Take a finished run of RUNS_DIR that computes the same, if there is one.")
@click.option("--once", is_flag=True, help="The same, and continue such a run that is not finished.")
@click.option(
    "--dry-run", is_flag=True, help="Build everything and try one step of each kind, without writing anything."
)
@limit_options
@report_option
@watch_options
def command(
    spec: str,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
    runs_dir: Path,
    device: str | None,
    locked: Path | None,
    reuse: bool,
    once: bool,
    dry_run: bool,
    max_steps: int | None,
    max_time: float | None,
    no_report: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run the experiment of SPEC: train, sample, evaluate, report. Results are written to a new folder.

    SPEC is a file, `-` for standard input, or the name of a packaged spec such as `quickstart`.
    """
    refuse_several_processes()
    wanted = [Source("--device", f"device={device}")] if device else []
    if locked:
        require_locked(locked, plugins)
    plan = load_plan(spec, [*sets, *wanted], unsets, plugins)
    if locked:
        require_plan_locked(locked, plan)
    if dry_run:
        _try(plan, quiet=quiet, as_json=as_json)
        return
    if (reuse or once) and took_finished(plan, runs_dir, quiet=quiet, as_json=as_json):
        return
    from ebmkit.engine.limit import Limit

    limit, report = Limit(max_steps, max_time), not no_report
    unfinished = unfinished_run(plan, runs_dir) if once else None
    if unfinished:
        continue_run(plan, unfinished.folder, limit=limit, report=report, quiet=quiet, as_json=as_json)
    else:
        carry_out(plan, runs_dir, limit=limit, report=report, quiet=quiet, as_json=as_json)


def _try(plan: Plan, *, quiet: bool, as_json: bool) -> None:
    """Try one step of each kind, and print what was found."""
    require_torch(plan)

    from ebmkit.engine.dry_run import dry_run

    tried = dry_run(plan)
    if as_json:
        click.echo(tried.as_json())
    elif not quiet:
        echo(tried.as_text())


def carry_out(
    plan: Plan,
    runs_dir: Path,
    *,
    limit: Limit | None = None,
    report: bool = True,
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Run a plan with output to the terminal."""
    require_torch(plan)

    from ebmkit.cli.terminal import Watch
    from ebmkit.engine.session import run
    from ebmkit.report.drawing import draw_run, draw_samples

    with Watch(quiet=quiet, as_json=as_json, report=report) as watch:
        draw = draw_run if report else None
        record = run(plan, runs_dir=runs_dir, draw=draw, picture=draw_samples, progress=watch, limit=limit)
    if record.mistakes:
        raise Mistakes(record.mistakes)
