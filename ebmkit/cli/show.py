"""`ebmkit show KIND [NAME]`: show the reference page of a component, or the contract of a kind."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import KindType, error_options, plugin_option
from ebmkit.cli.complete import complete_component
from ebmkit.cli.output import echo, echo_json, heading, stdout_for_results
from ebmkit.contracts.kinds import KINDS

if TYPE_CHECKING:
    from ebmkit.registry.reference import Page


@click.command("show")
@click.argument("kind", type=KindType(KINDS), metavar="KIND")
@click.argument("name", required=False, shell_complete=complete_component)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
@plugin_option
@error_options
def command(kind: str, name: str | None, as_json: bool, plugins: tuple[str, ...]) -> None:
    """Show the component NAME: summary, formula, results, parameters, reference, example.

    Without NAME, show what the author of a component of this kind writes.
    """
    if name is None:
        _show_contract(kind, as_json)
        return
    from ebmkit.registry.loading import Plugins
    from ebmkit.registry.registry import Registry

    with stdout_for_results():
        registry = Registry(Plugins(plugins))
        if "." in name:
            from ebmkit.registry.listing import Listing

            registry.describe(Listing(), [name.partition(".")[0]])
        description = registry.described(kind, name)
    shown, offers = description.page, list(description.abilities)
    if as_json:
        echo_json(_as_object(kind, name, shown, offers))
        return
    heading(f"{kind} {name}")
    for paragraph in (shown.summary, shown.body):
        if paragraph:
            echo("\n" + textwrap.indent(paragraph, "  "))
    if offers:
        echo(f"\n  Offers: {', '.join(offers)}")
    if shown.results:
        heading("\nResults")
        for result, meaning in shown.results.items():
            echo(f"  {result}: {meaning}")
    heading("\nParameters")
    for parameter in _parameters(shown):
        echo(textwrap.indent(parameter, "  "))
    for title, text in (("Reference", shown.reference), ("Example", shown.example)):
        if text:
            heading(f"\n{title}")
            echo(textwrap.indent(text, "  "))


def _show_contract(kind: str, as_json: bool) -> None:
    """The contract of a kind."""
    from dataclasses import asdict

    from ebmkit.registry.contract import contract_of

    contract = contract_of(KINDS[kind])
    if as_json:
        echo_json({"kind": kind, **asdict(contract)})
        return
    heading(f"{kind}: what its author writes")
    for paragraph in (contract.summary, contract.body):
        if paragraph:
            echo("\n" + textwrap.indent(paragraph, "  "))
    for title, members in (
        ("Methods", contract.methods),
        ("Class variables", contract.attributes),
        ("Types", contract.types),
    ):
        if members:
            heading(f"\n{title}")
        for member in members:
            echo(textwrap.indent(member.declaration, "  ") + ("    (required)" if member.required else ""))
            if member.meaning:
                echo(textwrap.indent(member.meaning, "      "))


def _parameters(shown: Page) -> list[str]:
    from ebmkit.language.yaml_writer import scalar

    def row(parameter: Any) -> str:
        default = "required" if parameter.required else f"default {scalar(parameter.default)}"
        first = f"{parameter.name}: {parameter.type}; {default}"
        return f"{first}\n    {parameter.meaning}" if parameter.meaning else first

    return [row(parameter) for parameter in shown.parameters] or ["none"]


def _as_object(kind: str, name: str, shown: Page, offers: list[str]) -> dict[str, Any]:
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
                "default": None if parameter.required else parameter.default,
                "meaning": parameter.meaning,
            }
            for parameter in shown.parameters
        ],
        "reference": shown.reference,
        "example": shown.example,
    }
