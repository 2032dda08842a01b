"""`ebmkit sample TARGET`: draw samples from a trained model, or from one that needs no training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import change_options, error_options, load_plan, plugin_option, report_option, run_folder
from ebmkit.cli.one_process import refuse_several_processes
from ebmkit.cli.output import echo
from ebmkit.cli.run import carry_out, runs_dir_option
from ebmkit.cli.sample_options import (
    CHAINS,
    FLAT,
    Asked,
    check_changes,
    check_files,
    check_fit,
    check_label,
    check_options,
    check_target,
    label_of,
)
from ebmkit.engine.torch_needed import require_torch
from ebmkit.errors.base import Mistakes
from ebmkit.errors.source import Source

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView
    from ebmkit.language.plan import Plan


@click.command("sample")
@click.argument("target", type=click.Path())
@click.option("-n", "count", type=click.IntRange(1, 10_000_000), help="Number of samples; by default that of the spec.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help=f"File to write: {', '.join(FLAT)}; chains for ArviZ: .zarr, or .json below 1.0. Without it, a spec is run.",
)
@click.option(
    "--more",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Continue the chains of a finished run for N more samples, in a new run that has all of them.",
)
@click.option("--allow-drift", is_flag=True, help="With --more: even if something that affects results has changed.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="A seed other than the run's, for different samples.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --out: also draw a picture of the samples (.png).")
@click.option(
    "--condition", "label", metavar="LABEL", help="With --out: draw samples with this label, or of the class named so."
)
@click.option(
    "--inpaint",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="With --out: draw samples that equal 'x' where 'mask' is true; by default one per state in the file.",
)
@click.option(
    "--denoise",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="With --out and --sigma: denoise the states 'x' of the file instead of drawing samples.",
)
@click.option(
    "--sigma",
    type=float,
    metavar="S",
    help="With --denoise: standard deviation of the noise, in those of the data if these are scaled.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@runs_dir_option
@report_option
@click.option("--quiet", is_flag=True, help="Print only the folder of a run.")
@change_options
@plugin_option
@error_options
def command(
    target: str,
    count: int | None,
    out: Path | None,
    more: int | None,
    allow_drift: bool,
    seed: int | None,
    plot: Path | None,
    label: str | None,
    inpaint: Path | None,
    denoise: Path | None,
    sigma: float | None,
    force: bool,
    runs_dir: Path,
    no_report: bool,
    quiet: bool,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
) -> None:
    """Draw samples from TARGET: the folder of a run, or a spec that has no `train:`.

    With --out they are written to a file. Without it, a spec is run as by 'ebmkit run', with a folder and a report.
    With --more the chains of a run continue, in a new run that equals one that had asked for all samples at once.
    """
    refuse_several_processes()
    asked = Asked(label, inpaint, denoise, sigma)
    check_files(out, plot, force)
    check_options(asked, out, count, seed)
    folder = run_folder(Path(target)) if Path(target).is_dir() else None
    others = {"-n": count, "--out": out, "--seed": seed, "--set": sets, "--unset": unsets}
    check_target(folder, target, out, more, allow_drift, others)
    if folder and more:
        _extend(folder, more, plugins, allow_drift, runs_dir, report=not no_report, quiet=quiet)
        return
    changes = {"-n": ("samples", count), "--seed": ("seed", seed)} if out is None else {}
    flags = [Source(flag, f"{key}={value}") for flag, (key, value) in changes.items() if value is not None]
    plan = load_plan(str(folder / "resolved.yaml") if folder else target, [*sets, *flags], unsets, plugins)
    experiment = check_changes(folder, plan, plugins) if folder and (sets or unsets) else None
    of_label = label_of(plan, asked.label)
    check_fit(folder, target, plan, asked, of_label, out)
    if out is None:
        carry_out(plan, runs_dir, report=not no_report, quiet=quiet)
    else:
        _write(plan, folder, experiment, count, seed, asked, of_label, out, plot, say=_nothing if quiet else echo)


def _extend(
    folder: Path, more: int, plugins: tuple[str, ...], allow_drift: bool, runs_dir: Path, *, report: bool, quiet: bool
) -> None:
    """Continue the chains of a run in a new one."""
    base = load_plan(str(folder / "resolved.yaml"), (), (), plugins)
    if not base.spec.chains:
        raise click.UsageError(
            f"--more: the spec of {folder} has no 'chains:', so every sample is the end of a separate chain; "
            "'-n N --seed S --out FILE' draws others"
        )
    flag = Source("--more", f"samples={base.spec.samples + more}")
    plan = load_plan(str(folder / "resolved.yaml"), [flag], (), plugins)
    require_torch(plan)

    from ebmkit.cli.terminal import Watch
    from ebmkit.engine.extension import extend
    from ebmkit.report.drawing import draw_run, draw_samples

    with Watch(quiet=quiet, as_json=False, report=report) as watch:
        draw = draw_run if report else None
        record = extend(
            base,
            plan,
            folder,
            runs_dir=runs_dir,
            allow_drift=allow_drift,
            draw=draw,
            picture=draw_samples,
            progress=watch,
        )
    if record.mistakes:
        raise Mistakes(record.mistakes)


def _nothing(line: str, *, err: bool = False) -> None: ...


def _write(
    plan: Plan,
    folder: Path | None,
    experiment: str | None,
    count: int | None,
    seed: int | None,
    asked: Asked,
    label: int | None,
    out: Path,
    plot: Path | None,
    say: Callable[..., None],
) -> None:
    require_torch(plan)

    # These import torch, so only after all checks.
    from ebmkit.engine.conditioning import Condition, read_condition, read_labels, read_states
    from ebmkit.engine.sampling import denoise, give_kept_samples, view_of
    from ebmkit.engine.signals import Signals

    tell = partial(echo, err=True)
    with Signals():
        if asked.denoise and asked.sigma is not None:
            with _blaming("--denoise"):
                noisy = read_states(asked.denoise, plan.event)
                labels = read_labels(asked.denoise, plan, len(noisy), label)
            view = view_of(plan, folder, experiment=experiment, say=tell)
            with _blaming("--sigma"):
                x = denoise(view, noisy, asked.sigma, labels)
            view.sample_labels = labels
            _keep(view, x, f"{len(x):,} denoised states", out, plot, partial(_pairs, view, noisy, None, x), say)
            return
        given = Condition(label)
        changed = [count, seed, experiment, label] != [None] * 4
        if asked.inpaint:
            with _blaming("--inpaint"):
                given = read_condition(asked.inpaint, plan, label)
        count = count or (plan.spec.samples if given.known is None else len(given.known))
        view = view_of(plan, folder, samples=count, seed=seed, condition=given, experiment=experiment, say=tell)
        check_label(view, label)
        if folder and plan.spec.chains and not changed:  # long chains are not run again
            give_kept_samples(view, folder)
        x = view.samples(1 if out.suffix in CHAINS else count)  # chains are written as they are
        known, mask = given.known, given.mask
        picture = partial(_summary, view) if known is None else partial(_pairs, view, known, mask, x)
        _keep(view, x, f"{count:,} samples", out, plot, picture, say)


def _keep(
    view: RunView,
    x: Tensor,
    words: str,
    out: Path,
    plot: Path | None,
    picture: Callable[[], bytes],
    say: Callable[..., None],
) -> None:
    """Write the result, and a picture if one was requested."""
    from ebmkit.engine.mixing import findings, verdict
    from ebmkit.storage.atomic import write_bytes
    from ebmkit.storage.export import write_draws, write_samples

    if out.suffix in CHAINS:
        assert view.draws is not None
        write_draws(out, view.draws.x, view.draws.seen, view.names.headings.coordinates)
    else:
        labels = None if view.sample_labels is None else view.sample_labels[: len(x)]
        write_samples(out, x, labels, view.names.headings)
    say(f"{words}  {out}")
    if view.draws:
        for line in (f"chains: {verdict(view)}", *(f"warning: {finding}" for finding in findings(view))):
            say(line, err=True)
    if plot:
        write_bytes(plot, picture())
        say(f"picture  {plot}")


def _summary(view: RunView) -> bytes:
    from ebmkit.report.summary import draw_summary

    return draw_summary(view)


def _pairs(view: RunView, given: Tensor, mask: Tensor | None, made: Tensor) -> bytes:
    from ebmkit.report.pairs import draw_pairs

    return draw_pairs(view, given, mask, made)


@contextmanager
def _blaming(option: str) -> Iterator[None]:
    """Report errors in the value of an option with its name."""
    try:
        yield
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error
