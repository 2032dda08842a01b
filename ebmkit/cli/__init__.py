"""The command line. One thin file a verb; each is imported when it is called, so that `--help` answers at once."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from ebmkit.contracts.version import __version__

if TYPE_CHECKING:
    from ebmkit.errors.base import EbmkitError, Mistakes

#: Verb -> what it does, in the order of the help. The verb's file has its name.
VERBS = {
    "Experiments": {
        "run": "Train, sample, measure and draw what a spec describes.",
        "resume": "Go on with a run that was interrupted, bit for bit.",
    },
    "Runs": {
        "runs": "What runs there are: status, results, age.",
        "sample": "Draw from a trained model, or from one that needs no training.",
        "evaluate": "Measure a run again, with its own metrics or others.",
        "report": "Write the page of a run anew.",
        "reproduce": "Make a run again, and compare bit for bit.",
        "diff": "How two runs differ: specs, locks, results.",
    },
    "Specs": {
        "new": "Write a new spec to begin with.",
        "validate": "Find all mistakes of specs, without running anything.",
        "resolve": "Show a spec with every default, and where each value comes from.",
        "schedule": "Noise levels that suit your data.",
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


def _leave(number: int, frame: object) -> None:
    """Outside of a run there is nothing to save, and imports of compiled code do not survive an exception."""
    os.write(2, b"interrupted\n" if number == signal.SIGINT else b"terminated\n")
    os._exit(128 + number)


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
            from ebmkit.registry.spelling import did_you_mean

            meant = did_you_mean(arguments[0], self.list_commands(context))
            raise click.UsageError(f"{error.message} {meant[:1].upper()}{meant[1:]}".rstrip(), context) from error

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, verbs in VERBS.items():
            with formatter.section(heading):
                formatter.write_dl([*verbs.items()])  # `list` is one of our verbs, and so a module here

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except _kinds_of_mistakes() as error:  # evaluated when something is raised: `--help` does not import them
            mistakes = getattr(error, "mistakes", [error])
            return self._fail(context, mistakes, error.exit_status)
        except KeyboardInterrupt as error:  # click would exit with 1
            number = getattr(error, "number", signal.SIGINT)
            click.echo("interrupted" if number == signal.SIGINT else "terminated", err=True)
            context.exit(128 + number)
        except BrokenPipeError:
            raise
        except OSError as error:  # files are named where they are written: this is what could not be printed
            from ebmkit.errors.running import StorageFailed

            sys.stdout = sys.stderr  # or the interpreter would try again when it ends
            failed = StorageFailed(f"{error.filename or 'standard output'}: {error.strerror or error}")
            return self._fail(context, [failed], failed.exit_status)

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


def _kinds_of_mistakes() -> tuple[type[Mistakes], type[EbmkitError]]:
    from ebmkit.errors.base import EbmkitError, Mistakes

    return Mistakes, EbmkitError


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
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        group(prog_name="ebmkit")
    except BrokenPipeError:  # `ebmkit list | head`
        sys.stderr.close()
        sys.exit(141)
    finally:
        gc.freeze()  # the process ends: to look for garbage once more takes as long as to check a spec
