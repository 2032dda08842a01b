"""`ebmkit doctor`: check this machine and the installation."""

from __future__ import annotations

import click

from ebmkit.cli.output import echo, echo_json

MARKS = {"ok": ("ok  ", "green"), "note": ("note", "yellow"), "bad": ("BAD ", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Check Python, torch, extras, plugins, disk and GPU. Exit status 3 if a check fails."""
    from ebmkit.cli.doctor_checks import checkup

    findings = checkup()
    if as_json:
        echo_json([finding.__dict__ for finding in findings])
    else:
        for finding in findings:
            word, colour = MARKS[finding.verdict]
            click.secho(f"{word}  ", fg=colour, nl=False)
            echo(f"{finding.subject:<16}  {finding.words}")
    if any(finding.verdict == "bad" for finding in findings):
        context.exit(3)
