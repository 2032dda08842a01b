"""The command line. One thin file a verb; each is imported when it is called, so that `--help` answers at once."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Any

import click

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.version import __version__

#: Verb -> what it does, in the order of the help. The verb's file has its name.
VERBS = {
    "Experiments": {
        "run": "Train, sample, measure and draw what a spec describes.",
        "sample": "Draw from a trained model, or from one that needs no training.",
    },
    "Specs": {
        "new": "Write a new spec to begin with.",
        "validate": "Find all mistakes of specs, without running anything.",
        "resolve": "Show a spec with every default, and where each value comes from.",
        "schema": "Write the JSON Schema that lets editors complete and check specs.",
    },
    "Components": {
        "list": "What is registered: models, objectives, samplers, ...",
        "show": "One component: formula, parameters, reference, example.",
        "plugins": "What is installed beside ebmkit itself.",
    },
    "Help": {
        "explain": "What an error code means.",
        "doctor": "What this machine has, and what is wrong with the installation.",
        "completion": "The script that makes your shell complete commands.",
    },
}


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as Ctrl-C does."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated


class Verbs(click.Group):
    """Finds a verb's file when the verb is typed, and shows errors in the form that was asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [verb for verbs in VERBS.values() for verb in verbs]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.list_commands(context):
            command: click.Command = import_module(f"ebmkit.cli.{name}").command
            return command
        if name.isidentifier():
            from ebmkit.cli.foreign import plugin_commands  # a plugin's verbs live under its namespace

            return plugin_commands(name)
        return None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as error:
            from ebmkit.suggest import did_you_mean

            meant = did_you_mean(arguments[0], self.list_commands(context))
            raise click.UsageError(f"{error.message} {meant[:1].upper()}{meant[1:]}".rstrip(), context) from error

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, verbs in VERBS.items():
            with formatter.section(heading):
                formatter.write_dl([*verbs.items()])  # `list` is one of our verbs, and so a module here

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Mistakes as several:
            return self._fail(context, several.mistakes, several.exit_status)
        except EbmkitError as mistake:
            return self._fail(context, [mistake], mistake.exit_status)
        except Terminated:
            click.echo("terminated", err=True)
            context.exit(143)
        except KeyboardInterrupt:  # click would exit with 1
            click.echo("interrupted", err=True)
            context.exit(130)

    def _fail(self, context: click.Context, mistakes: list[EbmkitError], status: int) -> None:
        from ebmkit.cli.common import DEBUG, FORMAT, report

        report(mistakes, context.meta.get(FORMAT, "text"))
        if context.meta.get(DEBUG):
            import traceback

            traceback.print_exc()
            for mistake in mistakes:
                if mistake.__cause__ is not None:
                    traceback.print_exception(mistake)
        context.exit(status)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="'ebmkit VERB --help' tells more. Start with 'ebmkit run quickstart'.",
)
@click.version_option(__version__, prog_name="ebmkit")
def group() -> None:
    """A laboratory for energy-based models: an experiment is one YAML file, a new method one small class."""


def main() -> None:
    """The entry point of the command."""
    # pydantic would search every installed distribution for plugins of its own, at each start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    signal.signal(signal.SIGTERM, _terminate)
    try:
        group(prog_name="ebmkit")
    except BrokenPipeError:  # `ebmkit list | head`
        sys.stderr.close()
        sys.exit(141)
