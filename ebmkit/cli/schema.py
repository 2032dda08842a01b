"""`ebmkit schema`: the spec language as JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ebmkit.cli.common import error_options, full_registry, plugin_option
from ebmkit.cli.output import echo, echo_json


@click.command("schema")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write; stdout by default.")
@plugin_option
@error_options
def command(out: Path | None, plugins: tuple[str, ...]) -> None:
    """Write the JSON Schema of specs, with the components of all installed plugins.

    To use it in an editor, begin a spec with, for example: `# yaml-language-server: $schema=ebmkit.schema.json`
    """
    from ebmkit.language.schema import schema

    described = schema(full_registry(plugins))
    if out is None:
        echo_json(described)
    else:
        from ebmkit.storage.atomic import write_text

        write_text(out, json.dumps(described, indent=2) + "\n")
        echo(f"wrote {out}", err=True)
