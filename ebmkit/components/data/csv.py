"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterator
from itertools import chain
from math import isfinite
from os import fstat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, MinLen

from ebmkit.components.data.headers import opened
from ebmkit.components.data.rows import (
    Levels,
    TestFraction,
    check_numbers,
    row_count,
    rows_of,
    scaled,
)
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator

#: Maximum number of bytes of a line.
_LONGEST = 1 << 20

#: Maximum number of columns.
_WIDEST = 100_000

#: Maximum number of bytes of a file whose rows are counted before it is loaded.
_COUNTED = 1 << 20


@component("csv")
class Csv(Data):
    """Rows of a table of numbers in a CSV file, one per line.

        row i is held out if frac(i / 1.618...) < test_fraction

    The rule spreads the held-out rows evenly and is the same in every run, for every seed. A first line without any
    number gives the names of the columns.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        columns: the columns to use, by name or counted from 0; null uses all.
        delimiter: character between two numbers.
        test_fraction: fraction of the rows that is held out.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers unchanged.

    Reference: RFC 4180 (the format); Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: csv, path: flowers.csv, columns: [petal_length, petal_width]}
    """

    path: FilePath = "data.csv"
    columns: Annotated[tuple[str | Annotated[int, Ge(0)], ...], MinLen(1)] | None = None
    delimiter: Literal[",", ";", "\t"] = ","
    test_fraction: TestFraction = 0.2
    dequantize: Levels | None = None

    def traits(self) -> DataTraits:
        return super().traits()._replace(unit_scale=self.dequantize is not None)

    def event(self) -> Event:
        with opened(self.path) as file:
            # A line of names and a row: a large file of empty lines is not searched.
            first = next(self._points(io.BytesIO(file.read(2 * _LONGEST))), None)
            if first is None:
                raise ValueError("has no rows")
        return (len(first),)

    def files(self) -> tuple[Path, ...]:
        return (located(self.path),)

    def point_count(self, split: Split) -> int | None:
        return row_count(split, self._row_count(), self.test_fraction)

    def _row_count(self) -> int | None:
        """The number of rows of a short file. A long one is not read to check a spec."""
        with opened(self.path) as file:
            if fstat(file.fileno()).st_size > _COUNTED:
                return None
            return sum(1 for _ in self._points(file))

    def load(self, split: Split, rng: Generator) -> Dataset:
        event = self.event()  # raises an error if the file cannot be read
        numbers = array("d")
        with opened(self.path) as file:
            for point in self._points(file):
                numbers.extend(point)
        x = torch.frombuffer(numbers, dtype=torch.float64).view(-1, *event)
        check_numbers(x, self.dequantize)
        rows = rows_of(split, len(x), self.test_fraction)
        return Dataset(scaled(x[rows], rng, self.dequantize))

    def _points(self, file: IO[bytes]) -> Iterator[list[float]]:
        """The chosen columns, line by line; the file is read lazily."""
        lines = _cells(file, self.delimiter)
        start = next(lines, None)
        if start is None:
            return
        width = len(start[1])
        if width > _WIDEST:
            raise ValueError(f"has {width:,} columns, but at most {_WIDEST:,} are read; use a .npz or .npy file")
        named = not any(_number(cell) is not None for cell in start[1])
        columns = self._positions(start[1], named)
        for line, cells in lines if named else chain([start], lines):
            if len(cells) != width:
                raise ValueError(f"has {width} columns in its first line, but {len(cells)} in line {line}")
            point = [_number(cells[column]) for column in columns]
            for column, number in zip(columns, point, strict=True):
                if number is None or not isfinite(number):
                    raise ValueError(f"has {cells[column]!r} in line {line}, column {column}: not a finite number")
            yield point  # type: ignore[misc]  # no entry is None

    def _positions(self, first: list[str], named: bool) -> list[int]:
        """Positions of the chosen columns, counted from 0."""
        if self.columns is None:
            return [*range(len(first))]
        names: dict[str, list[int]] = {}
        for position, cell in enumerate(first) if named else ():
            names.setdefault(cell.strip(), []).append(position)
        positions: dict[int, None] = {}  # a set in order
        for column in self.columns:
            if isinstance(column, str) and len(found := names.get(column, [])) != 1:
                known = f"its columns are {', '.join(names)}" if named else "they have no names: count them from 0"
                raise ValueError(f"has {'several' if found else 'no'} columns '{column}'; {known}")
            position = names[column][0] if isinstance(column, str) else column
            if position >= len(first):
                raise ValueError(f"has no column {position}, counted from 0: there are {len(first)}")
            if position in positions:
                raise ValueError(f"has column {column!r} only once, but 'columns' lists it twice")
            positions[position] = None
        return [*positions]


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
    while line := file.readline(_LONGEST):
        number += 1
        if len(line) == _LONGEST:
            raise ValueError(f"has more than {_LONGEST} bytes in line {number}")
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
