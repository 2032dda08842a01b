"""`ebmkit show KIND NAME`: show the reference page of a component."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import KindType, error_options, plugin_option
from ebmkit.contracts.kinds import KINDS

if TYPE_CHECKING:
    from ebmkit.language.reference import Page


def _complete_name(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from ebmkit.cli.common import full_registry

    return [name for name in full_registry(()).names(context.params.get("kind", "")) if name.startswith(typed)]


@click.command("show")
@click.argument("kind", type=KindType(KINDS), metavar="KIND")
@click.argument("name", shell_complete=_complete_name)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
@plugin_option
@error_options
def command(kind: str, name: str, as_json: bool, plugins: tuple[str, ...]) -> None:
    """Show the component NAME: summary, formula, results, parameters, reference, example."""
    from ebmkit.language.reference import page
    from ebmkit.registry.loading import Plugins
    from ebmkit.registry.registry import Registry

    cls: Any = Registry(Plugins(plugins)).find(kind, name)
    shown = page(cls)
    offers = sorted(getattr(cls, "offers", ()))
    if as_json:
        click.echo(json.dumps(_as_object(kind, name, shown, offers), indent=2))
        return
    click.secho(f"{kind} {name}", bold=True)
    for paragraph in (shown.summary, shown.body):
        if paragraph:
            click.echo("\n" + textwrap.indent(paragraph, "  "))
    if offers:
        click.echo(f"\n  Offers: {', '.join(offers)}")
    if shown.results:
        click.secho("\nResults", bold=True)
        for result, meaning in shown.results.items():
            click.echo(f"  {result}: {meaning}")
    click.secho("\nParameters", bold=True)
    for parameter in _parameters(shown):
        click.echo(textwrap.indent(parameter, "  "))
    for heading, text in (("Reference", shown.reference), ("Example", shown.example)):
        if text:
            click.secho(f"\n{heading}", bold=True)
            click.echo(textwrap.indent(text, "  "))


def _parameters(shown: Page) -> list[str]:
    from ebmkit.language.reference import plain_default
    from ebmkit.language.yaml_writer import scalar

    def row(parameter: Any) -> str:
        default = "required" if parameter.required else f"default {scalar(plain_default(parameter.default))}"
        first = f"{parameter.name}: {parameter.type}; {default}"
        return f"{first}\n    {parameter.meaning}" if parameter.meaning else first

    return [row(parameter) for parameter in shown.parameters] or ["none"]


def _as_object(kind: str, name: str, shown: Page, offers: list[str]) -> dict[str, Any]:
    from ebmkit.language.reference import plain_default

    return {
        "kind": kind,
        "name": name,
        "summary": shown.summary,
        "description": shown.body,
        "offers": offers,
        "results": shown.results,
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.type,
                "required": parameter.required,
                "default": None if parameter.required else plain_default(parameter.default),
                "meaning": parameter.meaning,
            }
            for parameter in shown.parameters
        ],
        "reference": shown.reference,
        "example": shown.example,
    }
