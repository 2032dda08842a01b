"""`ebmkit verify BUNDLE`: check a run in one file."""

from __future__ import annotations

from pathlib import Path

import click

from ebmkit.cli.common import error_options, plugin_option
from ebmkit.cli.grid import Cell, Grid, print_grid
from ebmkit.cli.output import echo_json
from ebmkit.errors.running import StorageFailed
from ebmkit.store.verification import Check, verify

#: The words of outcomes, and their colours on a terminal.
SHOWN = {"intact": Cell("intact", "green"), "wrong": Cell("WRONG", "red"), "open": Cell("not known", "yellow")}


@click.command("verify")
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--unpack", type=click.Path(path_type=Path), metavar="DIR", help="Also unpack the run to a folder in DIR."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@plugin_option
@error_options
def command(bundle: Path, unpack: Path | None, as_json: bool, plugins: tuple[str, ...]) -> None:
    """Check BUNDLE, a file written by `ebmkit bundle`: the hashes of its files, its spec, the data on this machine.

    To repeat the run as well, unpack it and use `ebmkit reproduce`.
    """
    checks = verify(bundle, plugins, unpack)
    if as_json:
        echo_json([check._asdict() for check in checks])
    else:
        print_grid(lambda compact: _grid(checks))
    if wrong := [check for check in checks if check.outcome == "wrong"]:
        raise StorageFailed(f"{bundle}: {'; '.join(f'{check.what}: {check.words}' for check in wrong)}")


def _grid(checks: list[Check]) -> Grid:
    rows = [[Cell(check.what), SHOWN[check.outcome], Cell(check.words)] for check in checks]
    return Grid(("what", "outcome", "seen"), rows)
