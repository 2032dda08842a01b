"""`ebmkit plugins manifest NAME`: write the manifest of a plugin, or compare it with the code."""

from __future__ import annotations

import click

from ebmkit.cli.common import error_options
from ebmkit.cli.complete import complete_plugin
from ebmkit.cli.output import echo


@click.command("manifest")
@click.argument("name", shell_complete=complete_plugin)
@click.option("--write", is_flag=True, help="Write the manifest next to the code.")
@error_options
def manifest(name: str, write: bool) -> None:
    """Compare the manifest of NAME with its code: an installed plugin, or the path of its source.

    A package with a manifest is listed, shown and completed without running its code. Exit status 3 if they differ.
    """
    from ebmkit.errors.base import Mistakes
    from ebmkit.errors.schema import PluginBroken
    from ebmkit.registry.manifest import has_manifest, verify, write_manifest
    from ebmkit.registry.named import plugins_named

    found: list[PluginBroken] = []
    for loaded in plugins_named(name)[1]:
        if write:
            echo(f"wrote {write_manifest(loaded)}")
        elif differences := verify(loaded):
            words = f"{loaded.plugin.label}: {'; '.join(differences)}"
            what = "write it again" if has_manifest(loaded) else "to write it"
            found.append(PluginBroken(words, help=f"{what}: ebmkit plugins manifest {name} --write"))
        else:
            echo(f"{loaded.plugin.label}: the manifest fits the code")
    if found:
        raise Mistakes(found)
