"""How verbs print. Text may come from untrusted specs, plugins and run folders, so it is escaped here, in one place."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import click

from ebmkit.errors.printable import printable


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text."""
    click.echo(printable(text, "\n\t"), err=err, nl=nl)


def heading(text: str) -> None:
    """Print a heading."""
    click.secho(printable(text), bold=True)


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON document, in which every unusual character is escaped."""
    click.echo(json.dumps(value, indent=indent))


def echo_traceback(error: BaseException) -> None:
    """Print the traceback of an error, for `--debug`."""
    echo("".join(traceback.format_exception(error)), err=True, nl=False)


@contextmanager
def stdout_for_results() -> Iterator[None]:
    """Around code of components, which may print: stdout belongs to the results, which a program may read."""
    with redirect_stdout(sys.stderr):
        yield
