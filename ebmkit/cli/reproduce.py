"""`ebmkit reproduce RUN`: repeat a run, and compare."""

from __future__ import annotations

from pathlib import Path

import click

from ebmkit.cli.common import error_options, load_plan, plugin_option, run_argument, watch_options
from ebmkit.cli.one_process import refuse_several_processes
from ebmkit.cli.output import echo
from ebmkit.engine.folder.locked import plugin_changes_explained
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.torch_needed import require_torch
from ebmkit.errors.running import NotReproduced


@click.command("reproduce")
@run_argument()
@click.option(
    "--runs-dir", type=click.Path(path_type=Path), default="runs", show_default=True, help="Folder for the new run."
)
@click.option("--allow-drift", is_flag=True, help="Try even if something that affects results has changed.")
@plugin_option
@watch_options
@error_options
def command(run: Path, runs_dir: Path, allow_drift: bool, plugins: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Repeat RUN from its resolved spec, and compare weights, measurements and samples bit for bit."""
    refuse_several_processes()
    if read_summary(run)["status"] != "finished":
        raise click.UsageError(f"{run} is not finished: continue it with 'ebmkit resume {run}'")
    with plugin_changes_explained(run, plugins):
        plan = load_plan(str(run / "resolved.yaml"), (), (), plugins)
    require_torch(plan)

    from ebmkit.cli.terminal import Watch
    from ebmkit.engine import session
    from ebmkit.engine.folder.reproduction import compare
    from ebmkit.report.drawing import draw_run, draw_samples

    with Watch(quiet=quiet, as_json=as_json) as watch:
        like = None if allow_drift else run
        again = session.run(plan, runs_dir=runs_dir, draw=draw_run, picture=draw_samples, progress=watch, like=like)
    found = compare(run, again.folder)
    for thing, same in found.items():
        echo(f"{'same' if same else 'DIFFERENT':<10} {thing}", err=as_json)
    if all(found.values()):
        echo(f"identical: {len(found)} files", err=as_json)
    else:
        different = ", ".join(thing for thing, same in found.items() if not same)
        raise NotReproduced(f"{again.folder} differs from {run}: {different}")
