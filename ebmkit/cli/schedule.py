"""`ebmkit schedule suggest SPEC`: suggest noise levels for the data of a spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import load_plan, spec_options
from ebmkit.cli.output import echo
from ebmkit.engine.torch_needed import require_torch

if TYPE_CHECKING:
    from ebmkit.language.plan import Plan


@click.group("schedule")
def command() -> None:
    """Suggest noise levels for your data."""


@command.command("suggest")
@spec_options
@click.option("--plot", type=click.Path(path_type=Path), help="Also draw the overlap of neighbouring levels (.png).")
@click.option("--force", is_flag=True, help="Overwrite an existing picture.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def suggest(
    spec: str,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Propose noise levels for the training data of SPEC, and steps for annealed Langevin dynamics along them.

    SPEC is any spec with `data:`; its own levels, if any, are compared with the proposed ones. Nothing is trained.
    """
    if plot and plot.suffix != ".png":
        raise click.BadParameter(f"'{plot.name}' must end in .png", param_hint="--plot")
    if plot and plot.exists() and not force:
        raise click.UsageError(f"{plot} exists; --force overwrites it")
    plan = load_plan(spec, sets, unsets, plugins, idle=True)
    _check_data(spec, plan)
    require_torch(plan)

    # These import torch, so only after all checks.
    from ebmkit.storage.atomic import make_folder, write_bytes
    from ebmkit.suggest.proposal import propose

    try:
        proposal = propose(plan)
    except ValueError as error:
        raise click.UsageError(f"{spec}: {error}") from error
    if plot:
        from ebmkit.suggest.overlap import draw_overlap

        picture = draw_overlap(proposal)
        make_folder(plot.parent)
        write_bytes(plot, picture)
    if as_json:
        click.echo(json.dumps(proposal.to_json(), indent=2, allow_nan=False))
        return
    echo("\n".join([*proposal.lines(), "", proposal.fragment()]))
    if plot:
        echo(f"\npicture  {plot}", err=True)


def _check_data(spec: str, plan: Plan) -> None:
    data = plan.spec.data
    if data is None:
        raise click.UsageError(f"{spec} has no 'data:', for which levels could be proposed")
    if data.traits().space != "real":
        raise click.UsageError(f"{spec} has {data.traits().space} data, but Gaussian noise needs real data")
