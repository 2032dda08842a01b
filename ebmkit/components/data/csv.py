"""A table of numbers as text."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, MinLen

from ebmkit.components.data.headers import opened
from ebmkit.components.data.rows import Levels, TestFraction, check_numbers, check_scaling, moments_of, rows_of, scaled
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator

#: Bytes of a line; what is longer is no row of a table.
_LONGEST = 1 << 20


@component("csv")
class Csv(Data):
    """The rows of a table that was written as text, one a line.

        row i is held out if frac(i / 1.618...) < test_fraction

    The rule spreads the held-out rows evenly and is the same in every run, whatever its seed. A first line in which
    nothing is a number gives the columns their names.

    Parameters:
        path: the file; a relative path starts in the folder in which the command is typed.
        columns: the columns to take, by name or counted from 0; null takes all.
        delimiter: what stands between two numbers.
        test_fraction: share of the rows that is held out.
        standardize: subtract the mean of each column and divide by its standard deviation, both of the training rows.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers as they are.

    Reference: RFC 4180 (the format); Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: csv, path: flowers.csv, columns: [petal_length, petal_width], standardize: true}
    """

    path: str = "data.csv"
    columns: Annotated[tuple[str | Annotated[int, Ge(0)], ...], MinLen(1)] | None = None
    delimiter: Literal[",", ";", "\t"] = ","
    test_fraction: TestFraction = 0.2
    standardize: bool = False
    dequantize: Levels | None = None

    def __post_init__(self) -> None:
        check_scaling(self.standardize, self.dequantize)

    def event(self) -> Event:
        with opened(self.path) as file:
            first = next(self._points(file), None)
            if first is None:
                raise ValueError("has no rows")
        return (len(first),)

    def files(self) -> tuple[Path, ...]:
        return (Path(self.path),)

    def load(self, split: Split, rng: Generator) -> Dataset:
        event = self.event()  # first of all: it refuses what cannot be read
        numbers = array("d")
        with opened(self.path) as file:
            for point in self._points(file):
                numbers.extend(point)
        x = torch.frombuffer(numbers, dtype=torch.float64).view(-1, *event)
        check_numbers(x, self.dequantize)
        rows = rows_of(split, len(x), self.test_fraction)
        moments = moments_of(x[rows_of("train", len(x), self.test_fraction)]) if self.standardize else None
        return Dataset(scaled(x[rows], rng, moments, self.dequantize))

    def _points(self, file: IO[bytes]) -> Iterator[list[float]]:
        """The chosen columns, line by line; reads no further than it is asked to."""
        lines = _cells(file, self.delimiter)
        start = next(lines, None)
        if start is None:
            return
        width = len(start[1])
        named = not any(_number(cell) is not None for cell in start[1])
        columns = self._positions(start[1], named)
        for line, cells in lines if named else chain([start], lines):
            if len(cells) != width:
                raise ValueError(f"has {width} columns in its first line and {len(cells)} in line {line}")
            point = [_number(cells[column]) for column in columns]
            for column, number in zip(columns, point, strict=True):
                if number is None or not isfinite(number):
                    raise ValueError(f"has {cells[column]!r} in line {line}, column {column}: not a finite number")
            yield point  # type: ignore[misc]  # no entry is None

    def _positions(self, first: list[str], named: bool) -> list[int]:
        """Where the chosen columns stand, counted from 0."""
        names = [cell.strip() for cell in first] if named else []
        positions = []
        for column in range(len(first)) if self.columns is None else self.columns:
            if isinstance(column, str) and names.count(column) != 1:
                there = f"its columns are {', '.join(names)}" if named else "they have no names: count them from 0"
                raise ValueError(f"has {'several' if column in names else 'no'} columns '{column}'; {there}")
            position = names.index(column) if isinstance(column, str) else column
            if position >= len(first):
                raise ValueError(f"has no column {position}, counted from 0: there are {len(first)}")
            if position in positions:
                raise ValueError(f"has column {column!r} only once, and it is asked for twice")
            positions.append(position)
        return positions


def _cells(file: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not empty, and its number."""
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
    """A number as a file spells it. Python would also read `1_2`, which is rather the name of something."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None
