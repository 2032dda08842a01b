"""What several verbs share: the options that name and change a spec, and the form of errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ebmkit.errors.base import EbmkitError
    from ebmkit.place import Source
    from ebmkit.plan import Plan
    from ebmkit.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

FORMAT, DEBUG = "ebmkit.format", "ebmkit.debug"


def _remember(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        context.meta[key] = value
        return value

    return callback


def error_options(function: F) -> F:
    """`--format` and `--debug`, which concern errors alone and so never reach the verb."""
    function = click.option(
        "--debug", is_flag=True, expose_value=False, callback=_remember(DEBUG), help="Show tracebacks."
    )(function)
    return click.option(
        "--format",
        type=click.Choice(["text", "json", "github"]),
        default="text",
        expose_value=False,
        callback=_remember(FORMAT),
        help="The form of errors.",
    )(function)


def plugin_option(function: F) -> F:
    """`--plugin FILE`: code that is not packaged is named by the user, never by a spec."""
    return click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="FILE",
        help="A Python file with components; its name is their namespace. Repeatable.",
    )(function)


def change_options(function: F) -> F:
    """`--set` and `--unset`."""
    function = click.option("--unset", "unsets", multiple=True, metavar="PATH", help="Remove a value. Repeatable.")(
        function
    )
    return click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="PATH=VALUE",
        help="Set a value, as in train.steps=100; append to a list with +=. Repeatable.",
    )(function)


def complete_spec(context: click.Context, parameter: click.Parameter, typed: str) -> list[Any]:
    """Packaged names, and files."""
    from click.shell_completion import CompletionItem

    from ebmkit import packaged

    names = [CompletionItem(name) for name in packaged.names() if name.startswith(typed)]
    return [CompletionItem(typed, type="file"), *names]  # in bash, "file" forgets what stands before it


class KindType(click.Choice[str]):
    """The name of a kind; a plural or a component's name gets a hint."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from ebmkit.plugins import Plugins
        from ebmkit.registry import Registry
        from ebmkit.suggest import nearest

        if value in self.choices:
            return value
        kinds = [kind for kind in self.choices if value in Registry(Plugins()).names(kind)]
        hint = f"'{value}' is {kinds[0]} '{value}': ebmkit show {kinds[0]} {value}" if kinds else ""
        meant = nearest(value, self.choices)
        hint = hint or (f"did you mean '{meant}'?" if meant else f"the kinds are {', '.join(self.choices)}")
        raise click.BadParameter(f"'{value}' is not a kind; {hint}", context, parameter)


def spec_options(function: F) -> F:
    """SPEC, what changes it, and how its errors are shown."""
    function = error_options(plugin_option(change_options(function)))
    return click.argument("spec", shell_complete=complete_spec)(function)


def load_plan(spec: str, sets: Sequence[str | Source], unsets: Sequence[str], plugins: Sequence[str]) -> Plan:
    """The plan of a spec; mistakes travel to the group, which shows them."""
    from ebmkit.load import load_spec

    return load_spec(spec, sets=sets, unsets=unsets, plugins=plugins)


def full_registry(plugins: Sequence[str]) -> Registry:
    """Everything that is installed; broken plugins are mentioned on stderr and left out."""
    from ebmkit.plugins import Plugins
    from ebmkit.registry import Registry

    registry = Registry(Plugins(plugins))
    for error in registry.load_all():
        click.echo(f"warning[{error.code}]: {error.message}", err=True)
        if click.get_current_context().meta.get(DEBUG):
            import traceback

            traceback.print_exception(error)
    return registry


def report(mistakes: Sequence[EbmkitError], form: str) -> None:
    """Show mistakes: to people on stderr, to machines on stdout."""
    from ebmkit.errors.render import render

    # https://no-color.org
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    colour = form == "text" and sys.stderr.isatty() and not plain
    click.echo(render(mistakes, form, colour=colour), err=form == "text", color=colour or None)
