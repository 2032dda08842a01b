"""`ebmkit sample TARGET`: draw from a trained model, or from one that needs no training."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import change_options, error_options, load_plan, plugin_option, run_folder
from ebmkit.cli.run import carry_out, runs_dir_option
from ebmkit.place import Source

if TYPE_CHECKING:
    from ebmkit.plan import Plan

#: Flat samples; and chain by chain, as arviz reads them.
FLAT, CHAINS = (".npy", ".npz", ".csv", ".safetensors"), ".json"
SUFFIXES = (*FLAT, CHAINS)


@click.command("sample")
@click.argument("target", type=click.Path())
@click.option("-n", "count", type=click.IntRange(1, 10_000_000), help="How many samples; as the spec says by default.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help=f"File to write: {', '.join(FLAT)}, or {CHAINS} for arviz. A spec without it makes a run.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Another seed than the run's, for other samples.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --out: also draw a picture of them (.png).")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@runs_dir_option
@click.option("--quiet", is_flag=True, help="Print the folder of a run, and nothing else.")
@change_options
@plugin_option
@error_options
def command(
    target: str,
    count: int | None,
    out: Path | None,
    seed: int | None,
    plot: Path | None,
    force: bool,
    runs_dir: Path,
    quiet: bool,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
) -> None:
    """Draw samples from TARGET: the folder of a run, or a spec that has no `train:`.

    With --out they go to a file. Without, a spec is carried out as 'ebmkit run' does, with a folder and a report.
    """
    _check_files(out, plot, force)
    folder = run_folder(Path(target)) if Path(target).is_dir() else None
    if folder and out is None:
        raise click.UsageError(f"{folder} was run; --out says where its samples go, and its report is in it")
    if folder and (sets or unsets):
        raise click.UsageError(f"{folder} was run as its spec says; --set and --unset change specs")
    asked = {"-n": ("samples", count), "--seed": ("seed", seed)} if out is None else {}
    flags = [Source(flag, f"{key}={value}") for flag, (key, value) in asked.items() if value is not None]
    plan = load_plan(str(folder / "resolved.yaml") if folder else target, [*sets, *flags], unsets, plugins)
    if not folder and plan.spec.train:
        raise click.UsageError(f"{target} has to be trained: 'ebmkit run {target}', then sample the folder of that run")
    if out is None:
        carry_out(plan, runs_dir, quiet=quiet)
        return
    if out.suffix == CHAINS and not plan.spec.chains:
        raise click.UsageError(
            f"{out} is to hold chains with the draws of each, and {target} has no 'chains:', so that every sample is "
            "the end of a chain of its own; add 'chains: {count: 4}' to the spec, or write samples to a .npz"
        )
    _write(plan, folder, count or plan.spec.samples, seed, out, plot, say=_nothing if quiet else click.echo)


def _nothing(line: str, *, err: bool = False) -> None: ...


def _check_files(out: Path | None, plot: Path | None, force: bool) -> None:
    if out and out.suffix not in SUFFIXES:
        raise click.BadParameter(f"'{out.name}' must end in one of {', '.join(SUFFIXES)}", param_hint="--out")
    if plot and plot.suffix != ".png":
        raise click.BadParameter(f"'{plot.name}' must end in .png", param_hint="--plot")
    if plot and not out:
        raise click.UsageError("--plot goes with --out; a run draws plots/summary.png by itself")
    for path in (out, plot):
        if path and path.exists() and not force:
            raise click.UsageError(f"{path} exists; --force overwrites it")


def _write(
    plan: Plan,
    folder: Path | None,
    count: int,
    seed: int | None,
    out: Path,
    plot: Path | None,
    say: Callable[..., None],
) -> None:
    # These import torch: only after everything was found to be right.
    from ebmkit.engine.mixing import findings, verdict
    from ebmkit.engine.sampling import view_of
    from ebmkit.engine.signals import Signals
    from ebmkit.export import write_draws, write_samples

    with Signals():
        view = view_of(plan, folder, samples=count, seed=seed, say=partial(click.echo, err=True))
        x = view.samples(count)
        if out.suffix == CHAINS:
            assert view.draws is not None
            write_draws(out, view.draws.x, view.draws.seen)
        else:
            write_samples(out, x)
        say(f"{count:,} samples  {out}")
        if view.draws:
            for line in (f"chains: {verdict(view)}", *(f"warning: {finding}" for finding in findings(view))):
                say(line, err=True)
        if plot:
            from ebmkit.report.summary import draw_summary
            from ebmkit.storage import write_bytes

            write_bytes(plot, draw_summary(view))
            say(f"picture  {plot}")
