"""`ebmkit sample TARGET`: draw from a trained model, or from one that needs no training."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ebmkit.cli.common import error_options, load_plan, plugin_option, run_folder

SUFFIXES = (".npy", ".npz", ".csv", ".safetensors")


@click.command("sample")
@click.argument("target", type=click.Path())
@click.option("-n", "count", type=click.IntRange(1, 10_000_000), required=True, help="How many samples.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help=f"File to write: {', '.join(SUFFIXES)}.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Another seed than the run's, for other samples.")
@click.option("--plot", type=click.Path(path_type=Path), help="Also draw a picture of them (.png).")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@plugin_option
@error_options
def command(
    target: str,
    count: int,
    out: Path,
    seed: int | None,
    plot: Path | None,
    plugins: tuple[str, ...],
    force: bool,
) -> None:
    """Draw samples from TARGET: the folder of a run, or a spec that has no `train:`."""
    if out.suffix not in SUFFIXES:
        raise click.BadParameter(f"'{out.name}' must end in one of {', '.join(SUFFIXES)}", param_hint="--out")
    if plot and plot.suffix != ".png":
        raise click.BadParameter(f"'{plot.name}' must end in .png", param_hint="--plot")
    for path in (out, plot):
        if path and path.exists() and not force:
            raise click.UsageError(f"{path} exists; --force overwrites it")
    folder = run_folder(Path(target)) if Path(target).is_dir() else None
    plan = load_plan(str(folder / "resolved.yaml") if folder else target, (), (), plugins)
    if not folder and plan.spec.train:
        raise click.UsageError(f"{target} has to be trained: 'ebmkit run {target}', then sample the folder of that run")

    # These import torch: only after everything was found to be right.
    from ebmkit.engine.sampling import view_of
    from ebmkit.engine.signals import Signals
    from ebmkit.export import write_samples

    with Signals():
        view = view_of(plan, folder, samples=count, seed=seed, say=partial(click.echo, err=True))
        write_samples(out, view.samples(count))
        click.echo(f"{count:,} samples  {out}")
        if plot:
            from ebmkit.report.summary import draw_summary
            from ebmkit.storage import write_bytes

            write_bytes(plot, draw_summary(view))
            click.echo(f"picture  {plot}")
