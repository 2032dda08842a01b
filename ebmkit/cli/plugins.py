"""`ebmkit plugins`: list installed plugins; further verbs about one plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import DEBUG, error_options, plugin_option
from ebmkit.cli.output import echo, echo_json
from ebmkit.cli.plugins_check import check
from ebmkit.cli.plugins_manifest import manifest
from ebmkit.cli.plugins_why import why
from ebmkit.errors.printable import printable

if TYPE_CHECKING:
    from ebmkit.registry.catalogue import Broken, Catalogue
    from ebmkit.registry.listing import Listing
    from ebmkit.registry.loading import LoadedPlugin

#: An import that takes longer is mentioned.
SLOW_IMPORT = 2.0


@click.group("plugins", invoke_without_command=True)
@click.option("--load", is_flag=True, help="Import each plugin, in another process, and report failures.")
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects.")
@plugin_option
@error_options
@click.pass_context
def command(context: click.Context, load: bool, as_json: bool, plugins: tuple[str, ...]) -> None:
    """List installed plugins from their metadata; without --load they are not imported.

    Exit status 3 if a plugin is broken.
    """
    if context.invoked_subcommand is not None:
        return
    from ebmkit.registry.listing import Listing
    from ebmkit.registry.loading import Plugins

    listing, named = Listing(), Plugins(plugins)
    rows = [_row_of_file(loaded) for loaded in named.loaded.values()]
    known = listing.catalogues(fresh=True) if load else listing.known()
    rows += [_row(listing, name, known.get(name), load) for name in listing.plugins if name not in named.loaded]
    if context.meta.get(DEBUG):
        for each in known.values():
            echo(getattr(each, "traceback", ""), err=True)
    if as_json:
        echo_json(rows)
    else:
        _print(rows)
        for note in listing.notes:
            echo(f"note: {note}", err=True)
    if any(row["status"] == "broken" for row in rows):
        context.exit(3)


command.add_command(check)
command.add_command(why)
command.add_command(manifest)


def _row(listing: Listing, name: str, known: Catalogue | Broken | None, load: bool) -> dict[str, Any]:
    plugin = listing.plugins[name]
    reason = plugin.trouble or getattr(known, "reason", "") or "; ".join(getattr(known, "mistakes", ()))
    components = getattr(known, "components", None)
    status = "disabled" if plugin.disabled else "broken" if reason else "loaded" if load else "installed"
    seconds = getattr(known, "seconds", 0.0)
    return {
        "namespace": name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "status": status,
        "reason": reason,
        "components": None if components is None else len(components),
        "changed": list(getattr(known, "changed", ())),
        "seconds": seconds if seconds > SLOW_IMPORT else None,
    }


def _row_of_file(loaded: LoadedPlugin) -> dict[str, Any]:
    """The row of a file named with `--plugin`, which is loaded in this process."""
    return {
        "namespace": loaded.plugin.namespace,
        "distribution": loaded.plugin.distribution,
        "version": loaded.plugin.version,
        "status": "broken" if loaded.mistakes else "loaded",
        "reason": "; ".join(loaded.mistakes),
        "components": len(loaded.offers),
        "changed": list(loaded.changed),
        "seconds": None,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    from ebmkit.registry.process_state import changes_in_words

    for row in rows:
        count = row["components"]
        what = "" if count is None else f", {count} component{'s' * (count != 1)}"
        said = [row["reason"]] if row["reason"] else []
        if row["changed"]:
            said.append(changes_in_words(row["changed"]))
        if row["seconds"]:
            said.append(f"importing it takes {row['seconds']:.1f} s")
        # One line for each, so that a search for a distribution also finds the reason.
        line = f"{row['namespace']}  {row['distribution']} {row['version']}  {row['status']}"
        line += f": {'; '.join(said)}" if said else what
        echo(printable(line, ""))
    if not rows:
        echo("no plugins are installed; a plugin is a package with an entry point in the group 'ebmkit'")
