"""`ebmkit new plugin NAME` and `ebmkit new component NAME`: for authors of plugins."""

from __future__ import annotations

from pathlib import Path

import click

from ebmkit.cli.common import error_options
from ebmkit.cli.output import echo
from ebmkit.contracts.kinds import KINDS

_kind = click.option("--kind", required=True, metavar="KIND", help=f"What it is: {', '.join(KINDS)}.")


@click.command("plugin")
@click.argument("name")
@_kind
@click.option("--component", metavar="NAME", help="Name of its first component; by default that of the plugin.")
@click.option(
    "--into", "parent", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Parent folder."
)
@error_options
def plugin(name: str, kind: str, component: str | None, parent: Path) -> None:
    """Write a package that adds a component to ebmkit, with its tests, a spec, and a workflow for GitHub.

    NAME is that of the plugin in specs, such as alpha; the package is called ebmkit-alpha. An existing folder is never
    changed.
    """
    from ebmkit.scaffold.names import plugin_names
    from ebmkit.scaffold.package import write_package

    try:
        names = plugin_names(name, kind, component)
        folder = write_package(names, parent)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    echo(f"wrote {folder}; edit src/{names.module}/{names.component}.py, and try:")
    echo(f"  cd {folder}")
    echo('  pip install -e ".[test]"')
    echo("  ebmkit plugins check .")
    echo(f"  ebmkit run specs/{names.component}.yaml")


@click.command("component")
@click.argument("name")
@_kind
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="Folder of the package, the one with pyproject.toml; by default the current one.",
)
@error_options
def component(name: str, kind: str, folder: Path) -> None:
    """Write another component into the package of a plugin, with its test and a spec."""
    from ebmkit.scaffold.component import add_component

    try:
        *written, changed = add_component(folder, name, kind)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    for path in written:
        echo(f"wrote {path}")
    echo(f"changed {changed}, which imports it; try: ebmkit plugins check {folder}")
