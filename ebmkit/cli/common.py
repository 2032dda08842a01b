"""Shared by several verbs: options that name and change a spec, and the format of errors."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from ebmkit.cli.complete import complete_setting, complete_spec
from ebmkit.cli.output import echo, stdout_for_results

if TYPE_CHECKING:
    from ebmkit.errors.base import EbmkitError
    from ebmkit.errors.source import Source
    from ebmkit.language.plan import Plan
    from ebmkit.registry.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

FORMAT, DEBUG = "ebmkit.format", "ebmkit.debug"


def _remember(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        context.meta[key] = value
        return value

    return callback


def error_options(function: F) -> F:
    """`--format` and `--debug`, which concern only errors and are not passed to the verb.

    They are evaluated first, since other arguments may be refused.
    """
    function = click.option(
        "--debug", is_flag=True, is_eager=True, expose_value=False, callback=_remember(DEBUG), help="Show tracebacks."
    )(function)
    return click.option(
        "--format",
        type=click.Choice(["text", "json", "github"]),
        default="text",
        is_eager=True,
        expose_value=False,
        callback=_remember(FORMAT),
        help="Format of errors.",
    )(function)


def plugin_option(function: F) -> F:
    """`--plugin PATH`: only the user can name code that is not packaged, never a spec."""
    return click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="PATH",
        help="Python file with components, whose name is their namespace, or the folder of a package. Repeatable.",
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
        shell_complete=complete_setting,
        help="Set a value, as in train.steps=100; append to a list with +=. Repeatable.",
    )(function)


class KindType(click.Choice[str]):
    """The name of a kind; a plural or a component's name gets a hint."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from ebmkit.registry.loading import Plugins
        from ebmkit.registry.registry import Registry
        from ebmkit.registry.spelling import nearest

        if value in self.choices:
            return value
        kinds = [kind for kind in self.choices if value in Registry(Plugins()).names(kind)]
        hint = f"'{value}' is {kinds[0]} '{value}': ebmkit show {kinds[0]} {value}" if kinds else ""
        meant = nearest(value, self.choices)
        hint = hint or (f"did you mean '{meant}'?" if meant else f"the kinds are {', '.join(self.choices)}")
        raise click.BadParameter(f"'{value}' is not a kind; {hint}", context, parameter)


def spec_options(function: F) -> F:
    """SPEC, options that change it, and the format of its errors."""
    function = error_options(plugin_option(change_options(function)))
    return click.argument("spec", shell_complete=complete_spec)(function)


def run_argument(name: str = "run") -> Callable[[F], F]:
    """RUN, the folder of a run."""
    return click.argument(name, type=click.Path(path_type=Path), callback=lambda c, p, value: run_folder(value))


def run_folder(path: Path) -> Path:
    """The folder, if it is that of a run of the current format; otherwise an error that says what to do."""
    if (path / "run.json").is_file():
        from ebmkit.engine.folder.run_format import check_folder

        check_folder(path)
        return path
    inside = sorted(found.parent for found in path.glob("*/run.json")) if path.is_dir() else []
    hint = f"; the newest run in it is {inside[-1]}" if inside else ""
    raise click.UsageError(f"{path} is not a run folder{hint}")


def limit_options(function: F) -> F:
    """Limits of one session."""
    function = click.option(
        "--max-time",
        type=Duration(),
        metavar="T",
        help="Pause after this time, such as 90s, 30m or 2h; 'ebmkit resume' continues.",
    )(function)
    return click.option("--max-steps", type=click.IntRange(1), metavar="N", help="Pause after this many steps.")(
        function
    )


def watch_options(function: F) -> F:
    """What is printed during a run."""
    function = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object on stdout, everything else on stderr."
    )(function)
    return click.option("--quiet", is_flag=True, help="Print only the run's folder.")(function)


def report_option(function: F) -> F:
    """`--no-report`, for runs whose pictures are not needed, or not yet."""
    return click.option(
        "--no-report", is_flag=True, help="Write neither report.html nor a picture; 'ebmkit report' writes them later."
    )(function)


class Duration(click.ParamType[float]):
    """Seconds, from `90s`, `30m`, `2h` or a plain number."""

    name = "duration"
    units: ClassVar[dict[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        text = str(value)
        unit = self.units.get(text[-1:], 0)
        try:
            seconds = float(text[:-1]) * unit if unit else float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < 1e9:
            self.fail(f"'{text}' is not a duration such as 90s, 30m or 2h", parameter, context)
        return seconds


def load_plan(
    spec: str, sets: Sequence[str | Source], unsets: Sequence[str], plugins: Sequence[str], *, idle: bool = False
) -> Plan:
    """The plan of a spec; mistakes are raised and shown by the group. With `idle` the spec may have nothing to do."""
    with _without_collector(), stdout_for_results():
        from ebmkit.language.load import load_spec

        plan = load_spec(spec, sets=sets, unsets=unsets, plugins=plugins, idle=idle)
    for loaded in plan.plugins:
        warn_of_mistakes(loaded.plugin.label, loaded.mistakes)
    return plan


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable garbage collection during imports: it takes a tenth of the time and finds nothing, because definitions
    stay alive."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def full_registry(plugins: Sequence[str]) -> Registry:
    """All installed components, without running code of plugins in this process; broken ones are reported on stderr."""
    with _without_collector():
        from ebmkit.registry.catalogue import Broken
        from ebmkit.registry.listing import Listing
        from ebmkit.registry.loading import Plugins
        from ebmkit.registry.registry import Registry

        registry, listing = Registry(Plugins(plugins)), Listing()
        registry.describe(listing)
    for loaded in registry.plugins.loaded.values():
        warn_of_mistakes(loaded.plugin.label, loaded.mistakes)
    for label, known in listing.labelled():
        if isinstance(known, Broken):
            echo(f"warning[E122]: {label} cannot be used: {known.reason}", err=True)
            if click.get_current_context().meta.get(DEBUG):
                echo(known.traceback, err=True)
        else:
            warn_of_mistakes(label, known.mistakes)
    for note in listing.notes:
        echo(f"note: {note}", err=True)
    return registry


def warn_of_mistakes(label: str, mistakes: Sequence[str]) -> None:
    """Report the components of a plugin that cannot be used, in one line."""
    if mistakes:
        echo(f"warning[E122]: {label} can be used in part only: {'; '.join(mistakes)}", err=True)


def report(mistakes: Sequence[EbmkitError], form: str) -> None:
    """Show mistakes: as text on stderr, in other formats on stdout."""
    from ebmkit.errors.render import render

    # https://no-color.org
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    colour = form == "text" and sys.stderr.isatty() and not plain
    click.echo(render(mistakes, form, colour=colour), err=form == "text", color=colour or None)
