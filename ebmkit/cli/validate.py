"""`ebmkit validate SPEC...`: find all mistakes without running anything."""

from __future__ import annotations

import click

from ebmkit.cli.common import FORMAT, change_options, error_options, load_plan, plugin_option
from ebmkit.cli.complete import complete_spec
from ebmkit.cli.output import echo
from ebmkit.errors.base import EbmkitError, Mistakes


@click.command("validate")
@click.argument("specs", nargs=-1, required=True, shell_complete=complete_spec)
@change_options
@plugin_option
@error_options
@click.pass_context
def command(
    context: click.Context,
    specs: tuple[str, ...],
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
) -> None:
    """Check SPECS: files, packaged names, or `-` for standard input. Exit status 2 if anything is wrong, 3 if only a
    package is missing."""
    from ebmkit.language.packages import require_packages

    mistakes: list[EbmkitError] = []
    for spec in specs:
        try:
            plan = load_plan(spec, sets, unsets, plugins)
            require_packages(plan)
        except Mistakes as several:
            mistakes.extend(several.mistakes)
        except EbmkitError as mistake:
            mistakes.append(mistake)
        else:
            if context.meta[FORMAT] == "text":
                echo(f"{spec}: ok  ({plan.hash[:8]})")
    if mistakes:
        raise Mistakes(mistakes)
    if context.meta[FORMAT] == "json":
        click.echo("[]")
