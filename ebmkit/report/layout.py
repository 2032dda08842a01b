"""The places of the main panels in the summary picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ebmkit.contracts.panel import Panel

WIDTH, MARGIN, GAP = 10.5, 0.45, 0.55  # inches
HEADER, SQUARE, WIDE = 0.95, (WIDTH - 2 * MARGIN - 2 * GAP) / 3, 1.75
COLUMNS, DPI = 6, 150


class Place(NamedTuple):
    """The axes of a panel in inches from the left and from the top of the picture, and their size."""

    left: float
    top: float
    width: float
    height: float


def arranged(panels: Sequence[Panel]) -> tuple[dict[int, Place], float]:
    """The place of each panel, by its position among them, and the height of the picture."""
    places = {}
    top, column = HEADER, (WIDTH - 2 * MARGIN + GAP) / COLUMNS
    for row, height in _rows(panels):
        left = MARGIN
        for panel, span in row:
            places[panel] = Place(left, top, span * column - GAP, height)
            left += span * column
        top += height + GAP
    return places, top


def _rows(panels: Sequence[Panel]) -> list[tuple[list[tuple[int, int]], float]]:
    """Positions of panels with the columns of each, row by row: squares, then wide ones, the first of them next to the
    last squares if there is room."""
    squares = [(position, 2) for position, panel in enumerate(panels) if not panel.wide]
    wides = [position for position, panel in enumerate(panels) if panel.wide]
    rows = [(squares[first : first + 3], SQUARE) for first in range(0, len(squares), 3)]
    if len(squares) % 3 and wides:
        rows[-1][0].append((wides.pop(0), COLUMNS - 2 * (len(squares) % 3)))
    for first in range(0, len(wides), 2):
        pair = wides[first : first + 2]
        rows.append(([(position, COLUMNS // len(pair)) for position in pair], WIDE))
    return rows
