"""`ebmkit plugins why NAME`: everything that is known of one plugin."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import DEBUG, error_options
from ebmkit.cli.complete import complete_plugin
from ebmkit.cli.output import echo, echo_json, heading

if TYPE_CHECKING:
    from ebmkit.registry.listing import Installed, Listing

_SOURCES = {
    "manifest": "its manifest, which fits the installed code; nothing of it was imported",
    "import": "an import in another process",
}


@click.command("why")
@click.argument("name", shell_complete=complete_plugin)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
@error_options
@click.pass_context
def why(context: click.Context, name: str, as_json: bool) -> None:
    """Show everything known of the plugin NAME, a namespace or a distribution: where it comes from, what it needs and
    offers, what its import changed, and why it cannot be used. It is imported in another process.

    Exit status 3 if it is broken.
    """
    from ebmkit.registry.catalogue import Broken
    from ebmkit.registry.listing import Listing

    listing = Listing()
    plugin = _chosen(listing, name)
    known = listing.catalogues([plugin.namespace], fresh=True).get(plugin.namespace)
    facts = _facts(listing, plugin, known)
    if as_json:
        echo_json(facts)
    else:
        _print(facts)
    if context.meta.get(DEBUG) and isinstance(known, Broken):
        echo(known.traceback, err=True)
    if facts["status"] == "broken":
        context.exit(3)


def _chosen(listing: Listing, name: str) -> Installed:
    from packaging.utils import canonicalize_name

    from ebmkit.errors.schema import PluginMissing
    from ebmkit.registry.spelling import did_you_mean

    by_distribution = {canonicalize_name(plugin.distribution): plugin for plugin in listing.plugins.values()}
    found = listing.plugins.get(name) or by_distribution.get(canonicalize_name(name))
    if found is None:
        meant = did_you_mean(name, [*listing.plugins, *by_distribution])
        raise PluginMissing(f"no plugin '{name}' is installed", help=meant or "'ebmkit plugins' lists those installed")
    return found


def _facts(listing: Listing, plugin: Installed, known: Any) -> dict[str, Any]:
    from ebmkit.registry.code_files import code_file
    from ebmkit.registry.hookspecs import API_VERSION

    reason = plugin.trouble or getattr(known, "reason", "")
    mistakes = list(getattr(known, "mistakes", ()))
    file = code_file(plugin.module)
    return {
        "namespace": plugin.namespace,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "status": "disabled" if plugin.disabled else "broken" if reason or mistakes else "loaded",
        "reason": reason,
        "mistakes": mistakes,
        "module": plugin.module,
        "file": str(file) if file else None,
        "requires": list(plugin.requires),
        "api": API_VERSION,
        "known_from": _SOURCES.get(listing.source(plugin.namespace), "its metadata"),
        "note": listing.note(plugin.namespace),
        "components": [
            {"kind": each.kind, "name": f"{plugin.namespace}.{each.name}", "laws": list(each.laws)}
            for each in getattr(known, "components", ())
        ],
        "hooks": list(getattr(known, "hooks", ())),
        "changed": list(getattr(known, "changed", ())),
        "seconds": getattr(known, "seconds", None),
    }


def _print(facts: dict[str, Any]) -> None:
    from ebmkit.registry.process_state import changes_in_words

    heading(f"{facts['namespace']}  {facts['distribution']} {facts['version']}  {facts['status']}")
    rows = {
        "Reason": facts["reason"],
        "Mistakes": "\n".join(facts["mistakes"]),
        "Module": f"{facts['module']}, in {facts['file'] or 'a place that only its import shows'}",
        "Requires": ", ".join(facts["requires"]) or "nothing",
        "Plugin API": f"{facts['api']}, that of this ebmkit" if not facts["reason"] else "",
        "Known from": facts["known_from"],
        "Note": facts["note"],
        "Components": "\n".join(f"{each['kind']} {each['name']}" for each in facts["components"]),
        "Hooks": ", ".join(facts["hooks"]),
        "Changed": changes_in_words(facts["changed"]).removeprefix("importing it changed "),
        "Import": f"{facts['seconds']:.2f} s" if facts["seconds"] else "",
    }
    for title, text in rows.items():
        if text:
            first, *more = text.split("\n")
            echo(f"  {title + ':':<12}{first}")
            echo(textwrap.indent("\n".join(more), " " * 14)) if more else None
