"""Tables that fit a terminal, and are whole where a program or a file reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text


def plain_table(headings: Sequence[str]) -> Table:
    """A table without lines. A cell that is too wide is folded, never cut short."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_table(build: Callable[[bool], Table]) -> None:
    """Print `build(False)`, one line a row; on a terminal that is too narrow for it, the compact `build(True)`."""
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
    """The text as it is, but for characters that would steer a terminal: runs may come from elsewhere."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
    return Text(shown, style)
