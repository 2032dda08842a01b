"""`ebmkit bundle RUN OUT`: write a run to one file."""

from __future__ import annotations

from pathlib import Path

import click

from ebmkit.cli.common import error_options, run_argument
from ebmkit.cli.output import echo
from ebmkit.store.bundle import write_bundle
from ebmkit.store.entry import Entry


@click.command("bundle")
@run_argument()
@click.argument("out", type=click.Path(path_type=Path))
@error_options
def command(run: Path, out: Path) -> None:
    """Write RUN to the zip archive OUT: spec, lock, metrics, samples, report, last checkpoint, a manifest of hashes.

    The same run gives the same bytes. `ebmkit verify OUT` checks it, also on another machine.
    """
    if out.suffix != ".zip":
        raise click.UsageError(f"{out} does not end with .zip")
    count = write_bundle(Entry(run), out)
    echo(f"{out}: {count} files, {out.stat().st_size / 1e6:.1f} MB")
