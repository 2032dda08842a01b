"""Tables of many rows: as text in a pipe or a file, which takes a tenth of the time, and coloured on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.cli.output import echo
from ebmkit.errors.printable import printable

if TYPE_CHECKING:
    from rich.table import Table


class Cell(NamedTuple):
    """A text, and its style on a terminal."""

    text: str
    style: str = ""


class Grid(NamedTuple):
    """Headings and rows."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def print_grid(build: Callable[[bool], Grid]) -> None:
    """Print `build(False)`, one line per row; on a terminal that is too narrow, the compact `build(True)`."""
    if on_terminal():
        from ebmkit.cli.tables import print_table

        print_table(lambda compact: _table(build(compact)))
    else:
        echo(_text(build(False)))


def on_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout.isatty()


def _text(grid: Grid) -> str:
    rows = [[*grid.headings], *([cell.text for cell in row] for row in grid.rows)]
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    padded = (
        "  ".join(text + " " * (width - _width(text)) for text, width in zip(row, widths, strict=True)) for row in rows
    )
    return "\n".join(line.rstrip() for line in padded)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _table(grid: Grid) -> Table:
    from ebmkit.cli.tables import cell, plain_table

    table = plain_table(grid.headings)
    for row in grid.rows:
        table.add_row(*(cell(*each) for each in row))
    return table
