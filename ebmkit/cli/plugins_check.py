"""`ebmkit plugins check PATH_OR_NAME`: the laws for each component of a plugin."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from ebmkit.cli.common import error_options
from ebmkit.cli.complete import complete_plugin
from ebmkit.cli.output import echo, echo_json, heading, stdout_for_results

if TYPE_CHECKING:
    from ebmkit.testing.plugin import Checked


@click.command("check")
@click.argument("plugin", metavar="PATH_OR_NAME", shell_complete=complete_plugin)
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects; progress on stderr.")
@click.option(
    "--expect-failure",
    "expected",
    multiple=True,
    metavar="LAW=REASON",
    help="A law that is known to be broken, such as sampler/walk/keeps_the_target; fails if it holds. Repeatable.",
)
@error_options
@click.pass_context
def check(context: click.Context, plugin: str, as_json: bool, expected: tuple[str, ...]) -> None:
    """Test each component of a plugin against the laws of its kind: a Python file, the folder of a package, which need
    not be installed, or the namespace of an installed plugin.

    Exit status 3 if a law is broken, or if no law of its kind applies to a component.
    """
    from ebmkit.testing.plugin import check_plugin

    found: list[Checked] = []
    with stdout_for_results():
        checked = check_plugin(plugin, _reasons(expected))
    while True:
        try:
            with stdout_for_results():  # components may print
                each = next(checked)
        except StopIteration:
            break
        except ValueError as error:
            raise click.UsageError(f"--expect-failure: {error}") from error
        _show(each, found[-1] if found else None, as_json)
        found.append(each)
    if as_json:
        echo_json([dataclasses.asdict(each) for each in found])
    else:
        echo(_summary(found))
    if any(each.failed for each in found):
        context.exit(3)


def _reasons(expected: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in expected]
    if lacking := [law for law, _, reason in pairs if not reason.strip()]:
        raise click.UsageError(f"--expect-failure: '{lacking[0]}' needs a reason: LAW=REASON")
    return {law.strip(): reason.strip() for law, _, reason in pairs}


def _show(each: Checked, before: Checked | None, as_json: bool) -> None:
    """One line as soon as a law was tried: some take seconds."""
    if as_json:
        if sys.stderr.isatty():
            echo(f"{each.component}: {each.law}: {each.outcome}", err=True)
        return
    if before is None or before.component != each.component:
        heading(each.component)
    echo(f"  {each.law:<36}  {each.outcome:<14}  {each.words}".rstrip())


def _summary(found: list[Checked]) -> str:
    outcomes = [each.outcome for each in found]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
