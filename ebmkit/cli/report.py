"""`ebmkit report RUN`: write the report and the picture of a run, or write them again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ebmkit.cli.common import error_options, load_plan, plugin_option, run_argument
from ebmkit.cli.output import echo
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.torch_needed import require_torch


@click.command("report")
@run_argument()
@click.option("--out", type=click.Path(path_type=Path), help="File to write; RUN/report.html by default.")
@plugin_option
@error_options
def command(run: Path, out: Path | None, plugins: tuple[str, ...]) -> None:
    """Write the report of RUN, finished or not, as one self-contained HTML file, and without --out its picture."""
    plan = load_plan(str(run / "resolved.yaml"), (), (), plugins)
    summary = read_summary(run)
    require_torch(plan)

    from ebmkit.engine.sampling import view_for_report
    from ebmkit.engine.signals import Signals
    from ebmkit.report.drawing import write_page, write_picture

    with Signals():
        view = view_for_report(plan, run, summary, say=partial(echo, err=True))
        drawn = None
        if out is None:
            picture, out = run / "plots" / "summary.png", run / "report.html"
            drawn = write_picture(view, summary["status"], picture)
            echo(f"picture  {picture}")
        write_page(view, run, summary, out, drawn)
    echo(f"report   {out}")
