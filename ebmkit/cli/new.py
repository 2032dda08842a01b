"""`ebmkit new`: write a new spec, plugin or component."""

from __future__ import annotations

from pathlib import Path

import click

from ebmkit.cli.common import change_options, error_options
from ebmkit.cli.complete import complete_spec
from ebmkit.cli.new_plugin import component, plugin
from ebmkit.cli.output import echo


@click.group("new")
def command() -> None:
    """Write a new spec, plugin or component from a template."""


command.add_command(plugin)
command.add_command(component)


@command.command("spec")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--from",
    "base",
    default="quickstart",
    show_default=True,
    shell_complete=complete_spec,
    help="Spec to copy; 'sampling' is one without training.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@change_options
@error_options
def spec(file: Path, base: str, force: bool, sets: tuple[str, ...], unsets: tuple[str, ...]) -> None:
    """Write a spec to FILE: a copy of another spec, including comments, with the given changes."""
    from ebmkit.language.edit import rewrite
    from ebmkit.language.layers import moved_base, open_spec
    from ebmkit.language.load import load_spec
    from ebmkit.storage.atomic import make_folder, write_text

    if file.exists() and not force:
        raise click.UsageError(f"{file} exists; --force overwrites it")
    source = open_spec(base)
    # An invalid change is refused before anything is written.
    plan = load_spec(source, sets=sets, unsets=unsets)
    make_folder(file.parent)
    write_text(file, rewrite(source.text, sets, unsets, moved_base(source, file)))
    echo(f"wrote {file}; try: ebmkit {'run' if plan.spec.train else 'sample'} {file}")
