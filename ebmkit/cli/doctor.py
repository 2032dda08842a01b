"""`ebmkit doctor`: check this machine and the installation."""

from __future__ import annotations

import json

import click

MARKS = {"ok": ("ok  ", "green"), "note": ("note", "yellow"), "bad": ("BAD ", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Check Python, torch, extras, plugins, disk and GPU. Exit status 3 if a check fails."""
    from ebmkit.cli.doctor_checks import checkup

    findings = checkup()
    if as_json:
        click.echo(json.dumps([finding.__dict__ for finding in findings], indent=2))
    else:
        for finding in findings:
            word, colour = MARKS[finding.verdict]
            click.echo(f"{click.style(word, fg=colour)}  {finding.subject:<16}  {finding.words}")
    if any(finding.verdict == "bad" for finding in findings):
        context.exit(3)
