"""`ebmkit plugins`: list installed plugins; `ebmkit plugins check` tests one."""

from __future__ import annotations

from typing import Any

import click

from ebmkit.cli.common import DEBUG, error_options, plugin_option
from ebmkit.cli.output import echo, echo_json, echo_traceback
from ebmkit.cli.plugins_check import check
from ebmkit.errors.printable import printable


@click.group("plugins", invoke_without_command=True)
@click.option("--load", is_flag=True, help="Also import each plugin, and report failures.")
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
    from ebmkit.errors.schema import PluginBroken
    from ebmkit.registry.loading import Plugins

    known = Plugins(plugins)
    rows = []
    for namespace, plugin in known.found().items():
        trouble, components, changed = plugin.trouble, None, []
        if load and not plugin.disabled:
            try:
                loaded = known.load(namespace)
                components, changed = len(loaded.components), list(loaded.changed)
            except PluginBroken as error:
                trouble = error.message.partition("cannot be used: ")[2]
                if context.meta.get(DEBUG):
                    echo_traceback(error)
        rows.append(
            {
                "namespace": namespace,
                "distribution": plugin.distribution,
                "version": plugin.version,
                "status": _status(plugin.disabled, trouble, load),
                "reason": trouble,
                "components": components,
                "changed": changed,
            }
        )
    if as_json:
        echo_json(rows)
    else:
        _print(rows)
    if any(row["status"] == "broken" for row in rows):
        context.exit(3)


command.add_command(check)


def _status(disabled: bool, trouble: str, load: bool) -> str:
    return "disabled" if disabled else "broken" if trouble else "loaded" if load else "installed"


def _print(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        changed = ", ".join(row["changed"])
        said = f"importing it changed {changed}, which was undone" if changed else row["reason"]
        # One line for each, so that a search for a distribution also finds the reason.
        line = f"{row['namespace']}  {row['distribution']} {row['version']}  {row['status']}"
        echo(printable(f"{line}: {said}" if said else line, ""))
    if not rows:
        echo("no plugins are installed; a plugin is a package with an entry point in the group 'ebmkit'")
