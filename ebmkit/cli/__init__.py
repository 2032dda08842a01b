"""The command line. One file per verb, imported when the verb is called, so that `--help` is fast."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from ebmkit.contracts.version import __version__

if TYPE_CHECKING:
    from ebmkit.errors.base import EbmkitError, Mistakes

#: Verb -> what it does, in the order of the help. Each verb has a file of the same name.
VERBS = {
    "Experiments": {
        "run": "Run the experiment of a spec: train, sample, evaluate, report.",
        "resume": "Continue an interrupted run, bit for bit.",
    },
    "Runs": {
        "runs": "List runs: filter, sort, and show any result or parameter as a column.",
        "prune": "Remove runs, after listing them.",
        "sample": "Draw samples from a trained model, or from one that needs no training.",
        "evaluate": "Evaluate a run again, with its own metrics or others.",
        "report": "Write the report of a run again.",
        "reproduce": "Repeat a run, and compare bit for bit.",
        "diff": "Compare two runs: specs, lockfiles, results.",
        "bundle": "Write a run to one file, for others.",
        "verify": "Check such a file, here or elsewhere.",
    },
    "Specs": {
        "new": "Write a new spec, plugin or component from a template.",
        "validate": "Find all mistakes in specs, without running anything.",
        "resolve": "Show a spec with every default and the origin of each value.",
        "schedule": "Suggest noise levels for your data.",
        "schema": "Write the JSON Schema with which editors complete and check specs.",
    },
    "Components": {
        "list": "List components: models, objectives, samplers, ...",
        "show": "Show a component: formula, parameters, reference, example.",
        "plugins": "List installed plugins.",
    },
    "Help": {
        "explain": "Explain an error code.",
        "doctor": "Check this machine and the installation.",
        "completion": "Print the completion script for your shell.",
    },
}


#: Seconds after which a thread that keeps the process alive is named.
SECONDS_OF_THREADS = 5.0


def _leave(number: int, frame: object) -> None:
    """Outside a run there is nothing to save, and an exception during imports of compiled code is not safe."""
    os.write(2, b"interrupted\n" if number == signal.SIGINT else b"terminated\n")
    os._exit(128 + number)


class Verbs(click.Group):
    """Imports a verb's file when the verb is used, and shows errors in the requested format."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a file name that is not UTF-8 is shown, not an error
                stream.reconfigure(errors="backslashreplace")
        return super().main(*arguments, **options)

    def list_commands(self, context: click.Context) -> list[str]:
        return [verb for verbs in VERBS.values() for verb in verbs]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.list_commands(context):
            command: click.Command = import_module(f"ebmkit.cli.{name}").command
            return command
        if name.isidentifier():
            from ebmkit.cli.foreign import plugin_commands  # a plugin's verbs are under its namespace

            return plugin_commands(name)
        return None

    def shell_complete(self, context: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from ebmkit.cli.complete import namespaces_with_commands

        found = [(name, words) for name, words in namespaces_with_commands().items() if name.startswith(incomplete)]
        return super().shell_complete(context, incomplete) + [CompletionItem(name, help=words) for name, words in found]

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as error:
            from ebmkit.registry.spelling import did_you_mean

            words = did_you_mean(arguments[0], self.list_commands(context))
            if any(word.partition("=")[0] == "--plugin" for word in arguments):
                words = "--plugin adds no commands; those of a plugin can be called if its package is installed."
            raise click.UsageError(f"{error.message} {words[:1].upper()}{words[1:]}".rstrip(), context) from error

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
        except click.UsageError as error:
            from ebmkit.errors.printable import printable

            shown = printable(words := error.format_message())  # it may quote an untrusted file or its name
            if shown == words:
                raise
            raise click.UsageError(shown, error.ctx) from error
        except KeyboardInterrupt as error:  # click would exit with 1
            number = getattr(error, "number", signal.SIGINT)
            click.echo("interrupted" if number == signal.SIGINT else "terminated", err=True)
            context.exit(128 + number)
        except BrokenPipeError:
            raise
        except OSError as error:  # errors of files are raised where they are written: this one is from printing
            from ebmkit.errors.running import StorageFailed

            sys.stdout = sys.stderr  # otherwise the interpreter would try again at exit
            failed = StorageFailed(f"{error.filename or 'standard output'}: {error.strerror or error}")
            return self._fail(context, [failed], failed.exit_status)

    def _fail(self, context: click.Context, mistakes: list[EbmkitError], status: int) -> None:
        from ebmkit.cli.common import DEBUG, FORMAT, report

        report(mistakes, context.meta.get(FORMAT, "text"))
        if context.meta.get(DEBUG):
            from ebmkit.cli.output import echo_traceback

            current = sys.exc_info()[1]
            assert current is not None
            # Each of several has its own traceback.
            for error in [current, *(mistake for mistake in mistakes if mistake.__cause__ and mistake is not current)]:
                echo_traceback(error)
        context.exit(status)


def _kinds_of_mistakes() -> tuple[type[Mistakes], type[EbmkitError]]:
    from ebmkit.errors.base import EbmkitError, Mistakes

    return Mistakes, EbmkitError


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="For more, see 'ebmkit VERB --help'. Start with 'ebmkit run quickstart'.",
)
@click.version_option(__version__, prog_name="ebmkit")
def group() -> None:
    """A laboratory for energy-based models: an experiment is one YAML file, a new method one small class."""


def prepare_process() -> None:
    """Settings of a process that serves one command."""
    # Otherwise pydantic and torch search every installed distribution for their own plugins: this takes time, and one
    # distribution with damaged metadata stops them.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _name_threads_that_stay() -> None:
    """Python waits at exit for threads that a plugin left, perhaps forever."""
    from ebmkit.errors.printable import printable

    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    staying = [printable(thread.name) for thread in others if not thread.daemon]
    if staying:
        words = f"waiting for the thread '{staying[0]}', which a plugin or library started; Ctrl-C ends ebmkit\n"
        reminder = threading.Timer(SECONDS_OF_THREADS, os.write, (2, words.encode()))
        reminder.daemon = True
        reminder.start()


def main() -> None:
    """The entry point of the command."""
    prepare_process()
    if "_EBMKIT_COMPLETE" in os.environ:
        import_module("ebmkit.cli.complete")  # before click chooses a shell
    try:
        group(prog_name="ebmkit")
    except BrokenPipeError:  # `ebmkit list | head`
        sys.stderr.close()
        sys.exit(141)
    finally:
        _name_threads_that_stay()
        gc.freeze()  # a last garbage collection at exit would take as long as checking a spec
