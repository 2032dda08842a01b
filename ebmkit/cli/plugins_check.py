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
    from ebmkit.testing.plugin import Checked, Outcome

#: In the order of the summary.
_OUTCOMES: tuple[Outcome, ...] = ("held", "broken", "broken as expected", "not applicable")


@click.command("check")
@click.argument("plugin", metavar="PATH_OR_NAME", shell_complete=complete_plugin)
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects; progress on stderr.")
@click.option(
    "--expect-failure",
    "expected",
    multiple=True,
    metavar="KIND/NAME/LAW=REASON",
    help="A law that is known to be broken, such as sampler/walk/keeps_the_target; fails if it holds. Repeatable.",
)
@click.option("--law", "laws", multiple=True, metavar="LAW", help="Try only this law. Repeatable.")
@error_options
@click.pass_context
def check(context: click.Context, plugin: str, as_json: bool, expected: tuple[str, ...], laws: tuple[str, ...]) -> None:
    """Test each component of a plugin against the laws of its kind: a Python file, the folder of a package, which need
    not be installed, or the namespace of an installed plugin.

    Exit status 3 if a law is broken, or if no law of its kind applies to a component.
    """
    from ebmkit.testing.plugin import check_plugin

    found: list[Checked] = []
    with stdout_for_results():
        checked = check_plugin(plugin, _reasons(expected), laws)
    while True:
        try:
            with stdout_for_results():  # components may print
                each = next(checked)
        except StopIteration:
            break
        except ValueError as error:
            raise click.UsageError(str(error)) from error
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
        raise click.UsageError(f"--expect-failure: '{lacking[0]}' needs a reason: KIND/NAME/LAW=REASON")
    return {law.strip(): reason.strip() for law, _, reason in pairs}


def _show(each: Checked, before: Checked | None, as_json: bool) -> None:
    """One line as soon as a law was tried: some take seconds."""
    if as_json:
        if sys.stderr.isatty():
            echo(f"{each.component}: {each.law}: {each.outcome}", err=True)
        return
    if before is None or before.component != each.component:
        heading(each.component)
    width = _longest_law(each.component.partition(" ")[0])
    echo(f"  {each.law:<{width}}  {each.outcome:<{max(map(len, _OUTCOMES))}}  {each.words}".rstrip())


def _longest_law(kind: str) -> int:
    """The width of the column of laws, which are printed one by one."""
    from ebmkit.contracts.kinds import KINDS
    from ebmkit.testing import laws_of

    return max(len(law.__name__) for law in laws_of(kind)) if kind in KINDS else 0


def _summary(found: list[Checked]) -> str:
    outcomes = [each.outcome for each in found]
    counts = {outcome: outcomes.count(outcome) for outcome in _OUTCOMES}
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
