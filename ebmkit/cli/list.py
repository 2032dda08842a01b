"""`ebmkit list [KIND]`: list components."""

from __future__ import annotations

import click

from ebmkit.cli.common import KindType, error_options, full_registry, plugin_option
from ebmkit.cli.output import echo, echo_json, heading
from ebmkit.contracts.kinds import KINDS


@click.command("list", epilog=f"The kinds: {', '.join(KINDS)}.")
@click.argument("kind", required=False, type=KindType(KINDS), metavar="[KIND]")
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects.")
@plugin_option
@error_options
def command(kind: str | None, as_json: bool, plugins: tuple[str, ...]) -> None:
    """List the components of KIND, or all components, including those of installed plugins."""
    entries = full_registry(plugins).entries(kind)
    if as_json:
        objects = [{"kind": e.kind, "name": e.name, "plugin": e.plugin, "summary": e.summary} for e in entries]
        echo_json(objects)
        return
    width = max((len(entry.name) for entry in entries), default=0)
    for each in [kind] if kind else KINDS:
        rows = [entry for entry in entries if entry.kind == each]
        heading(each)
        for entry in rows:
            echo(f"  {entry.name:<{width}}  {entry.summary}")
        if not rows:
            echo("  none yet; plugins may add some")
