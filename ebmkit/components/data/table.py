"""Tables in text files, read row by row: names of columns, numbers and labels."""

from __future__ import annotations

import csv
import sys
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from math import isfinite
from typing import IO, NamedTuple, TypeAlias

#: Maximum number of bytes of a line.
LONGEST = 1 << 20

#: Maximum number of columns.
_WIDEST = 100_000

#: Maximum number of different labels.
_MOST_LABELS = 10_000

#: A column, by name or counted from 0.
Column: TypeAlias = str | int


class Layout(NamedTuple):
    """The columns of a table that are read."""

    coordinates: tuple[int, ...]  # their positions
    label: int | None
    names: tuple[str, ...] | None  # of the coordinates
    label_name: str | None


class Row(NamedTuple):
    """A row of a table."""

    line: int
    x: list[float]
    label: str | None


class Labels(NamedTuple):
    """The labels of a table as integers, and their names if they are words."""

    y: list[int]
    names: tuple[str, ...] | None


class Table:
    """A table in an open file. The first line gives the names of the columns if it contains no number."""

    def __init__(
        self,
        file: IO[bytes],
        delimiter: str,
        columns: Sequence[Column] | None,
        label: Column | None,
        *,
        named: bool | None = None,
    ) -> None:
        """`named` says whether the first line has names, for tables of words."""
        self._lines = _cells(file, delimiter)
        self._first = next(self._lines, None)
        if self._first is None:
            raise ValueError("has no rows")
        cells = self._first[1]
        self._width = len(cells)
        if self._width > _WIDEST:
            raise ValueError(f"has {self._width:,} columns, but at most {_WIDEST:,} are read; use a .npz or .npy file")
        self._named = not any(_number(cell) is not None for cell in cells) if named is None else named
        self._names: dict[str, list[int]] = {}
        for position, cell in enumerate(cells) if self._named else ():
            self._names.setdefault(_name(cell, position), []).append(position)
        self.layout = self._layout(columns, label)

    def _layout(self, columns: Sequence[Column] | None, label: Column | None) -> Layout:
        of_label = None if label is None else self._position(label)
        if columns is None:
            chosen = tuple(position for position in range(self._width) if position != of_label)
        else:
            chosen = tuple(map(self._position, columns))
            for place, position in enumerate(chosen):
                if position in chosen[:place]:
                    raise ValueError(f"has column {columns[place]!r} only once, but 'columns' lists it twice")
                if position == of_label:
                    raise ValueError(f"has the labels in column {label!r}, but 'columns' lists it too")
        if not chosen:
            raise ValueError("has no column in addition to the labels")
        cells = self._first[1] if self._first else []
        if not self._named:
            return Layout(chosen, of_label, None, None)
        names = [_name(cell, position) for position, cell in enumerate(cells)]
        of_coordinates = tuple(names[position] for position in chosen)
        return Layout(chosen, of_label, of_coordinates, None if of_label is None else names[of_label])

    def _position(self, column: Column) -> int:
        """The position of a column, counted from 0."""
        if isinstance(column, str) and len(found := self._names.get(column, [])) != 1:
            known = f"its columns are {', '.join(self._names)}"
            known = known if self._named else "they have no names: count them from 0"
            raise ValueError(f"has {'several' if found else 'no'} columns '{column}'; {known}")
        position = self._names[column][0] if isinstance(column, str) else column
        if position >= self._width:
            raise ValueError(f"has no column {position}, counted from 0: there are {self._width}")
        return position

    def rows(self) -> Iterator[Row]:
        """The rows; the file is read lazily."""
        coordinates, label = self.layout[:2]
        for line, cells in self._cells_of_rows():
            x = [_number(cells[column]) for column in coordinates]
            for column, number in zip(coordinates, x, strict=True):
                if number is None or not isfinite(number):
                    raise ValueError(
                        f"has {cells[column]!r} in line {line}, column {column}: not a finite number; choose "
                        "'columns' without it, or 'labels' if it is the class of a row"
                    )
            yield Row(line, x, None if label is None else cells[label].strip())  # type: ignore[arg-type]

    def words(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The number of every line and the words in the columns that are read; the file is read lazily."""
        for line, cells in self._cells_of_rows():
            yield line, tuple(cells[column].strip() for column in self.layout.coordinates)

    def _cells_of_rows(self) -> Iterator[tuple[int, list[str]]]:
        assert self._first is not None
        for line, cells in self._lines if self._named else chain([self._first], self._lines):
            if len(cells) != self._width:
                raise ValueError(f"has {self._width} columns in its first line, but {len(cells)} in line {line}")
            yield line, cells


class Rows(NamedTuple):
    """All rows of a table."""

    numbers: array[float]
    width: int
    labels: Labels


def read_rows(table: Table, labels: LabelReader | None) -> Rows:
    """Read the whole table. `labels` knows the labels of tables that were read before."""
    numbers = array("d")
    if labels:
        labels.begin()
    for row in table.rows():
        numbers.extend(row.x)
        if labels:
            labels.add(row)
    return Rows(numbers, len(table.layout.coordinates), labels.finish() if labels else Labels([], None))


class LabelReader:
    """Reads the labels of tables: integers from 0 on, or words, which are numbered in sorted order.

    The words of the first table are the classes: those of further tables have to be among them.
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] | None = None
        self._first = True

    def begin(self) -> None:
        """Begin a table."""
        self._rows: list[str] = []
        self._lines: dict[str, int] = {}  # the line in which a label is first found

    def add(self, row: Row) -> None:
        """The label of the next row."""
        label = row.label or ""
        if not label:
            raise ValueError(f"has no label in line {row.line}")
        label = sys.intern(label)  # millions of rows, but few labels
        self._rows.append(label)
        self._lines.setdefault(label, row.line)
        if len(self._lines) > _MOST_LABELS:
            raise ValueError(f"has more than {_MOST_LABELS:,} different labels: they name rows rather than classes")

    def finish(self) -> Labels:
        """The labels of the table."""
        words = any(_number(label) is None for label in self._lines)
        if self._first:
            self._first, self._names = False, tuple(sorted(self._lines)) if words else None
        if self._names is None:
            numbers = {label: _integer(label, line) for label, line in self._lines.items()}
        else:
            numbers = {name: number for number, name in enumerate(self._names)}
            for label, line in self._lines.items():
                if label not in numbers:
                    known = ", ".join(self._names[:10])
                    raise ValueError(f"has the label '{label}' in line {line}, but those of training rows are {known}")
        return Labels([numbers[label] for label in self._rows], self._names)


def _name(cell: str, position: int) -> str:
    """The name of a column. Some programs write row numbers without one."""
    return cell.strip() or f"x{position}"


def _integer(label: str, line: int) -> int:
    number = _number(label)
    if number is None or number < 0 or not number.is_integer():
        raise ValueError(f"has the label '{label}' in line {line}: labels are integers from 0 on, or words")
    return int(number)


def _cells(file: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of each line that is not empty."""
    reader = csv.reader(_lines(file), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"cannot be read as a table at line {reader.line_num}: {error}") from None


def _lines(file: IO[bytes]) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        if len(line) == LONGEST:
            raise ValueError(f"has more than {LONGEST} bytes in line {number}")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"is not text in UTF-8 at line {number}") from None


def _number(cell: str) -> float | None:
    """The number in a cell, if it is one. Python would also read `1_2`, which is more likely a name."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None
