"""The options of `ebmkit sample`: which of them can be combined, and with which runs."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ebmkit.cli.common import load_plan
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.language.labels import label_refusal

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView
    from ebmkit.language.plan import Plan

#: Formats of flat samples, and those of ArviZ, which keep chains separate: for 1.0 and later, and for earlier versions.
FLAT, CHAINS = (".npy", ".npz", ".csv", ".safetensors"), (".zarr", ".json")
SUFFIXES = (*FLAT, *CHAINS)
#: Sections that define how samples are drawn but not what was trained.
DRAWING = ("sampler", "init", "chains", "samples")


class Asked(NamedTuple):
    """Options of conditional sampling and of denoising."""

    label: str | None
    inpaint: Path | None
    denoise: Path | None
    sigma: float | None

    def options(self) -> list[str]:
        """The names of those that were given."""
        names = ("--condition", "--inpaint", "--denoise", "--sigma")
        return [name for name, value in zip(names, self, strict=True) if value is not None]


def check_files(out: Path | None, plot: Path | None, force: bool) -> None:
    """Check the names of the files to write."""
    if out and out.suffix not in SUFFIXES:
        raise click.BadParameter(f"'{out.name}' must end in one of {', '.join(SUFFIXES)}", param_hint="--out")
    if plot and plot.suffix != ".png":
        raise click.BadParameter(f"'{plot.name}' must end in .png", param_hint="--plot")
    if plot and not out:
        raise click.UsageError("--plot goes with --out; a run draws plots/summary.png by itself")
    for path in (out, plot):
        if path and path.exists() and not force:
            raise click.UsageError(f"{path} exists; --force overwrites it")


def check_options(asked: Asked, out: Path | None, count: int | None, seed: int | None) -> None:
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
        if out and out.suffix in CHAINS:
            raise click.UsageError(f"{out} is a format for long chains, but --denoise runs none; write to a .npz")


def check_target(
    folder: Path | None,
    target: str,
    out: Path | None,
    more: int | None,
    allow_drift: bool,
    others: Mapping[str, object],
) -> None:
    """Check that something is asked of a run that it can give; with --more, that it is finished, and nothing else."""
    if more is None:
        if allow_drift:
            raise click.UsageError("--allow-drift goes with --more")
        if folder and out is None:
            raise click.UsageError(
                f"{folder} is a run: give a file for its samples with --out, or continue its chains with --more"
            )
        return
    if folder is None:
        raise click.UsageError(
            f"--more continues the chains of a run, but {target} is a spec: give the folder of a run"
        )
    if given := [name for name, value in others.items() if value not in (None, ())]:
        raise click.UsageError(f"--more and {given[0]} cannot be combined: chains continue as they were begun")
    if (status := read_summary(folder)["status"]) != "finished":
        raise click.UsageError(f"{folder} is {status}, not finished: first 'ebmkit resume {folder}'")


def label_of(plan: Plan, word: str | None) -> int | None:
    """The label that --condition gives as a number or by the name of its class."""
    if word is None:
        return None
    data = plan.spec.data
    names = (data.class_names() if data and not data.missing() else None) or ()
    if word in names:
        return names.index(word)
    if word.isascii() and word.removeprefix("-").isdigit():
        return int(word)
    known = f"the classes are {', '.join(names[:20])}" if names else "labels are integers"
    raise click.BadParameter(f"there is no label '{word}': {known}", param_hint="--condition")


def check_fit(folder: Path | None, target: str, plan: Plan, asked: Asked, label: int | None, out: Path | None) -> None:
    """Check that the target needs no training, and that model and sampler support the options."""
    if not folder and plan.spec.train:
        raise click.UsageError(f"{target} must be trained first: 'ebmkit run {target}', then sample its run folder")
    if out and out.suffix in CHAINS and not plan.spec.chains:
        raise click.UsageError(
            f"{out} is a format for long chains, but {target} has no 'chains:', so every sample is the end of a "
            "separate chain; add 'chains: {count: 4}' to the spec, or write samples to a .npz"
        )
    model, sampler = plan.spec.model, plan.chain_sampler
    if label is not None and (why := label_refusal(plan, label)):
        raise click.BadParameter(f"{target}: {why}", param_hint="--condition")
    if asked.inpaint and not (sampler and sampler.traits().from_noise):
        with_it = f"sampler '{sampler.component_name}' of {target} does not" if sampler else f"{target} has no sampler"
        raise click.UsageError(
            f"--inpaint needs a sampler that goes once from noise to samples, as 'annealed_langevin' and 'reverse_sde' "
            f"do, but {with_it}"
        )
    if asked.inpaint and plan.spec.scale == "whiten":
        raise click.UsageError(
            f"--inpaint needs columns that are scaled one by one, but {target} has 'scale: whiten': train it with "
            "'scale: standardize'"
        )
    if asked.denoise and (model.traits().space != "real" or not model.traits().offers & {"gradient", "score"}):
        raise click.UsageError(f"--denoise needs a score, but model '{model.component_name}' of {target} has none")


def check_changes(folder: Path, plan: Plan, plugins: tuple[str, ...]) -> str:
    """For a run, only the way samples are drawn may change. Returns the hash of the plan as it was run."""
    as_run = load_plan(str(folder / "resolved.yaml"), [], (), plugins)
    kept = [key for key in {**plan.resolved, **as_run.resolved} if key not in DRAWING]
    if changed := [key for key in kept if plan.resolved.get(key) != as_run.resolved.get(key)]:
        raise click.UsageError(
            f"{folder} was run with another '{changed[0]}'; for a run, --set and --unset may only change "
            f"{', '.join(DRAWING)}"
        )
    return as_run.hash


def check_label(view: RunView, label: int | None) -> None:
    """Check that some training point has the label: the network has not learned others."""
    known = view.parts.train_labels
    if label is not None and known is not None and not bool((known == label).any()):
        there = ", ".join(view.names.label(each) for each in sorted(set(known.tolist()))[:20])
        said = f"no training point has label {view.names.label(label)}; labels are {there}"
        raise click.BadParameter(said, param_hint="--condition")
