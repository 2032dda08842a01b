"""`ebmkit plugins manifest NAME`: write the manifest of a plugin, or compare it with the code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import error_options
from ebmkit.cli.complete import complete_plugin
from ebmkit.cli.output import echo

if TYPE_CHECKING:
    from ebmkit.registry.loading import LoadedPlugin


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
    from ebmkit.registry.manifest import verify, write_manifest

    found: list[PluginBroken] = []
    for loaded in _loaded(name):
        if write:
            echo(f"wrote {write_manifest(loaded)}")
        elif differences := verify(loaded):
            words = f"{loaded.plugin.label}: {'; '.join(differences)}"
            found.append(PluginBroken(words, help=f"write it again: ebmkit plugins manifest {name} --write"))
        else:
            echo(f"{loaded.plugin.label}: the manifest fits the code")
    if found:
        raise Mistakes(found)


def _loaded(name: str) -> list[LoadedPlugin]:
    """The plugins of a path, or the installed one of this name."""
    from ebmkit.registry.loading import Plugins

    if Path(name).exists():
        return list(Plugins([name]).loaded.values())
    return [Plugins().load_whole(name)]
