"""`ebmkit explain CODE`: explain an error code."""

from __future__ import annotations

import inspect

import click

from ebmkit.errors.catalogue import CATALOGUE


def _codes(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    return [code for code in CATALOGUE if code.startswith(typed.upper())]


@click.command("explain")
@click.argument("code", required=False, shell_complete=_codes)
def command(code: str | None) -> None:
    """Explain an error CODE such as E103; without it, list all codes."""
    if code is None:
        for known, error in sorted(CATALOGUE.items()):
            click.echo(f"{known}  {(inspect.getdoc(error) or '').splitlines()[0]}")
        return
    found = CATALOGUE.get(code.upper())
    if found is None:
        raise click.UsageError(f"there is no error '{code}'; 'ebmkit explain' lists all codes")
    click.secho(f"{found.code}: exit status {found.exit_status}\n", bold=True)
    click.echo(inspect.getdoc(found))
