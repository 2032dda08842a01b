"""`ebmkit resume RUN`: continue an interrupted run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import (
    error_options,
    limit_options,
    load_plan,
    plugin_option,
    report_option,
    run_argument,
    watch_options,
)
from ebmkit.cli.one_process import refuse_several_processes
from ebmkit.cli.output import echo
from ebmkit.engine.folder.locked import plugin_changes_explained
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.torch_needed import require_torch
from ebmkit.errors.base import Mistakes

if TYPE_CHECKING:
    from ebmkit.engine.limit import Limit
    from ebmkit.language.plan import Plan


@click.command("resume")
@run_argument()
@click.option("--allow-drift", is_flag=True, help="Continue even if something that affects results has changed.")
@plugin_option
@limit_options
@report_option
@watch_options
@error_options
def command(
    run: Path,
    allow_drift: bool,
    plugins: tuple[str, ...],
    max_steps: int | None,
    max_time: float | None,
    no_report: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Continue RUN from its last valid checkpoint; the result equals that of an uninterrupted run bit for bit.

    Of a run that ended with a failed metric, the evaluation is repeated. Refused if spec, plugins, data, versions,
    device or threads differ from those with which the run began.
    """
    refuse_several_processes()
    before = read_summary(run)
    if before["status"] == "finished" and not before["failed"]:
        echo(f"{run} is finished", err=True)
        return
    with plugin_changes_explained(run, plugins):
        plan = load_plan(str(run / "resolved.yaml"), (), (), plugins)
    from ebmkit.engine.limit import Limit

    continue_run(
        plan,
        run,
        limit=Limit(max_steps, max_time),
        allow_drift=allow_drift,
        report=not no_report,
        quiet=quiet,
        as_json=as_json,
    )


def continue_run(
    plan: Plan,
    run: Path,
    *,
    limit: Limit,
    allow_drift: bool = False,
    report: bool = True,
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Continue a run with output to the terminal."""
    require_torch(plan)

    from ebmkit.cli.terminal import Watch
    from ebmkit.engine.session import resume
    from ebmkit.report.drawing import draw_run, draw_samples

    with Watch(quiet=quiet, as_json=as_json, report=report) as watch:
        draw = draw_run if report else None
        record = resume(
            plan, run, allow_drift=allow_drift, draw=draw, picture=draw_samples, progress=watch, limit=limit
        )
    if record.mistakes:
        raise Mistakes(record.mistakes)
