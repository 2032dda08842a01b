"""Tables that fit a terminal, and are complete when written to a pipe or a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ebmkit.errors.printable import printable


def plain_table(headings: Sequence[str]) -> Table:
    """A table without lines. A cell that is too wide is wrapped, never truncated."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(cell(heading), overflow="fold")
    return table


def print_table(build: Callable[[bool], Table]) -> None:
    """Print `build(False)`, one line per row; on a terminal that is too narrow, the compact `build(True)`."""
    console = Console()
    table = build(False)
    width = console.measure(table, options=console.options.update(width=1_000_000)).maximum
    if console.is_terminal:
        console.print(table if width <= console.width else build(True))
        return
    wide = Console(width=width)
    with wide.capture() as captured:
        wide.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def cell(text: str, style: str = "") -> Text:
    """The text without characters that could control the terminal, since run folders are untrusted."""
    return Text(printable(text), style)
