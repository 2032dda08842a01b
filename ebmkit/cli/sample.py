"""`ebmkit sample TARGET`: draw samples from a trained model, or from one that needs no training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ebmkit.cli.common import change_options, error_options, load_plan, plugin_option, run_folder
from ebmkit.cli.one_process import refuse_several_processes
from ebmkit.cli.run import carry_out, runs_dir_option
from ebmkit.errors.source import Source

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView
    from ebmkit.language.plan import Plan

#: Formats of flat samples, and the format of arviz, which keeps chains separate.
FLAT, CHAINS = (".npy", ".npz", ".csv", ".safetensors"), ".json"
SUFFIXES = (*FLAT, CHAINS)
#: Sections that define how samples are drawn but not what was trained.
DRAWING = ("sampler", "init", "chains", "samples")


class Asked(NamedTuple):
    """Options of conditional sampling and of denoising."""

    label: int | None
    inpaint: Path | None
    denoise: Path | None
    sigma: float | None

    def options(self) -> list[str]:
        """The names of those that were given."""
        names = ("--condition", "--inpaint", "--denoise", "--sigma")
        return [name for name, value in zip(names, self, strict=True) if value is not None]


@click.command("sample")
@click.argument("target", type=click.Path())
@click.option("-n", "count", type=click.IntRange(1, 10_000_000), help="Number of samples; by default that of the spec.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help=f"File to write: {', '.join(FLAT)}, or {CHAINS} for arviz. Without it, a spec is run.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="A seed other than the run's, for different samples.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --out: also draw a picture of the samples (.png).")
@click.option("--condition", "label", type=int, metavar="LABEL", help="With --out: draw samples with this label.")
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
@click.option("--sigma", type=float, metavar="S", help="With --denoise: standard deviation of the noise.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@runs_dir_option
@click.option("--quiet", is_flag=True, help="Print only the folder of a run.")
@change_options
@plugin_option
@error_options
def command(
    target: str,
    count: int | None,
    out: Path | None,
    seed: int | None,
    plot: Path | None,
    label: int | None,
    inpaint: Path | None,
    denoise: Path | None,
    sigma: float | None,
    force: bool,
    runs_dir: Path,
    quiet: bool,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
) -> None:
    """Draw samples from TARGET: the folder of a run, or a spec that has no `train:`.

    With --out they are written to a file. Without it, a spec is run as by 'ebmkit run', with a folder and a report.
    """
    refuse_several_processes()
    asked = Asked(label, inpaint, denoise, sigma)
    _check_files(out, plot, force)
    _check_options(asked, out, count, seed)
    folder = run_folder(Path(target)) if Path(target).is_dir() else None
    if folder and out is None:
        raise click.UsageError(f"{folder} is a finished run: give a file for its samples with --out")
    changes = {"-n": ("samples", count), "--seed": ("seed", seed)} if out is None else {}
    flags = [Source(flag, f"{key}={value}") for flag, (key, value) in changes.items() if value is not None]
    plan = load_plan(str(folder / "resolved.yaml") if folder else target, [*sets, *flags], unsets, plugins)
    experiment = _check_changes(folder, plan, plugins) if folder and (sets or unsets) else None
    if not folder and plan.spec.train:
        raise click.UsageError(f"{target} must be trained first: 'ebmkit run {target}', then sample its run folder")
    if out is None:
        carry_out(plan, runs_dir, quiet=quiet)
        return
    if out.suffix == CHAINS and not plan.spec.chains:
        raise click.UsageError(
            f"{out} is the format for long chains, but {target} has no 'chains:', so every sample is the end of a "
            "separate chain; add 'chains: {count: 4}' to the spec, or write samples to a .npz"
        )
    _check_fit(target, plan, asked)
    _write(plan, folder, experiment, count, seed, asked, out, plot, say=_nothing if quiet else click.echo)


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


def _check_options(asked: Asked, out: Path | None, count: int | None, seed: int | None) -> None:
    """Check that the options can be combined."""
    if out is None and (options := asked.options()):
        raise click.UsageError(f"{options[0]} needs --out, the file for the result")
    if asked.inpaint and asked.denoise:
        raise click.UsageError("--inpaint and --denoise cannot be combined")
    if (asked.denoise is None) != (asked.sigma is None):
        raise click.UsageError(
            "--denoise and --sigma must be given together: --sigma is the noise's standard deviation"
        )
    if asked.sigma is not None and not 0 < asked.sigma < inf:
        raise click.BadParameter(f"{asked.sigma} is not a positive number", param_hint="--sigma")
    if asked.denoise:
        for name, value in (("-n", count), ("--seed", seed)):
            if value is not None:
                raise click.UsageError(f"{name} applies to samples, but --denoise draws none")
        if out and out.suffix == CHAINS:
            raise click.UsageError(f"{out} is the format for long chains, but --denoise runs none; write to a .npz")


def _check_fit(target: str, plan: Plan, asked: Asked) -> None:
    """Check that model and sampler support the options."""
    model, sampler = plan.spec.model, plan.chain_sampler
    if asked.label is not None:
        if not model.traits().labelled:
            raise click.UsageError(
                f"--condition: model '{model.component_name}' of {target} takes no labels; use one with 'classes'"
            )
        classes = getattr(model, "classes", None)
        if asked.label < 0 or (classes is not None and asked.label >= classes):
            known = f"0 to {classes - 1}" if classes else "0 and above"
            raise click.BadParameter(f"there is no label {asked.label}: labels are {known}", param_hint="--condition")
    if asked.inpaint and model.traits().labelled and asked.label is None:
        raise click.UsageError(f"--inpaint: model '{model.component_name}' takes labels; give one with --condition")
    if asked.inpaint and not (sampler and sampler.traits().from_noise):
        with_it = f"sampler '{sampler.component_name}' of {target} does not" if sampler else f"{target} has no sampler"
        raise click.UsageError(
            f"--inpaint needs a sampler that goes once from noise to samples, as 'annealed_langevin' and 'reverse_sde' "
            f"do, but {with_it}"
        )
    if asked.denoise:
        if model.traits().space != "real" or not model.traits().offers & {"gradient", "score"}:
            raise click.UsageError(f"--denoise needs a score, but model '{model.component_name}' of {target} has none")
        if model.traits().labelled and asked.label is None:
            raise click.UsageError(f"--denoise: model '{model.component_name}' takes labels; give one with --condition")


def _write(
    plan: Plan,
    folder: Path | None,
    experiment: str | None,
    count: int | None,
    seed: int | None,
    asked: Asked,
    out: Path,
    plot: Path | None,
    say: Callable[..., None],
) -> None:
    # These import torch, so only after all checks.
    from ebmkit.engine.conditioning import Condition, read_condition, read_states
    from ebmkit.engine.sampling import denoise, view_of
    from ebmkit.engine.signals import Signals

    tell = partial(click.echo, err=True)
    with Signals():
        if asked.denoise and asked.sigma is not None:
            with _blaming("--denoise"):
                noisy = read_states(asked.denoise, plan.event)
            view = view_of(plan, folder, experiment=experiment, say=tell)
            with _blaming("--sigma"):
                x = denoise(view, noisy, asked.sigma, asked.label)
            _keep(view, x, f"{len(x):,} denoised states", out, plot, partial(_pairs, view, noisy, None, x), say)
            return
        given = Condition(asked.label)
        if asked.inpaint:
            with _blaming("--inpaint"):
                given = read_condition(asked.inpaint, plan.event, asked.label)
        if given.known is not None:
            count = count or len(given.known)
        count = count or plan.spec.samples
        view = view_of(plan, folder, samples=count, seed=seed, condition=given, experiment=experiment, say=tell)
        _check_label(view, asked.label)
        x = view.samples(count)
        known, mask = given.known, given.mask
        picture = partial(_summary, view) if known is None else partial(_pairs, view, known, mask, x)
        _keep(view, x, f"{count:,} samples", out, plot, picture, say)


def _check_changes(folder: Path, plan: Plan, plugins: tuple[str, ...]) -> str:
    """For a run, only the way samples are drawn may change. Returns the hash of the plan as it was run."""
    as_run = load_plan(str(folder / "resolved.yaml"), [], (), plugins)
    kept = [key for key in {**plan.resolved, **as_run.resolved} if key not in DRAWING]
    if changed := [key for key in kept if plan.resolved.get(key) != as_run.resolved.get(key)]:
        raise click.UsageError(
            f"{folder} was run with another '{changed[0]}'; for a run, --set and --unset may only change "
            f"{', '.join(DRAWING)}"
        )
    return as_run.hash


def _check_label(view: RunView, label: int | None) -> None:
    """Check that some training point has the label: the network has not learned others."""
    known = view.parts.train_labels
    if label is not None and known is not None and not bool((known == label).any()):
        there = ", ".join(map(str, sorted(set(known.tolist()))[:20]))
        raise click.BadParameter(f"no training point has label {label}; labels are {there}", param_hint="--condition")


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

    if out.suffix == CHAINS:
        assert view.draws is not None
        write_draws(out, view.draws.x, view.draws.seen)
    else:
        write_samples(out, x, None if view.sample_labels is None else view.sample_labels[: len(x)])
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
