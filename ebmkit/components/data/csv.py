"""Tables of numbers in CSV files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from os import fstat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, MinLen

from ebmkit.components.data.headers import opened
from ebmkit.components.data.rows import (
    Levels,
    TestFraction,
    Values,
    check_numbers,
    check_paths,
    check_values,
    row_count,
    rows_of,
    scaled,
)
from ebmkit.components.data.table import LONGEST, Column, LabelReader, Rows, Table, read_rows
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Maximum number of bytes of a file whose rows are counted before it is loaded.
_COUNTED = 1 << 20


@component("csv")
class Csv(Data):
    """Rows of a table of numbers in a CSV file, one per line.

        row i is held out if frac(i / 1.618...) < test_fraction

    The rule spreads the held-out rows evenly and is the same in every run, for every seed. With `test_path` the rows of
    that file are held out instead. A first line without any number gives the names of the columns, which samples,
    pictures and files then have too.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        columns: the columns to use, by name or counted from 0; null uses all, except that of the labels.
        labels: the column with the class of each row, by name or counted from 0: integers from 0 on, or words, which
            are numbered in sorted order; null for none.
        delimiter: character between two numbers.
        test_path: a file of the same form with the held-out rows; null holds out rows of `path`.
        test_fraction: fraction of the rows that is held out if there is no `test_path`.
        values: `real`, or `binary` for units of 0 and 1, or `spin` for units of -1 and +1; other numbers are then
            refused.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers unchanged.

    Reference: RFC 4180 (the format); Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: csv, path: flowers.csv, labels: species, test_path: more_flowers.csv}
    """

    path: FilePath = "data.csv"
    columns: Annotated[tuple[str | Annotated[int, Ge(0)], ...], MinLen(1)] | None = None
    labels: str | Annotated[int, Ge(0)] | None = None
    delimiter: Literal[",", ";", "\t"] = ","
    test_path: FilePath | None = None
    test_fraction: TestFraction = 0.2
    values: Values = "real"
    dequantize: Levels | None = None

    def __post_init__(self) -> None:
        check_paths(self.path, self.test_path)
        check_values(self.values, self.dequantize)

    def traits(self) -> DataTraits:
        return (
            super()
            .traits()
            ._replace(labelled=self.labels is not None, space=self.values, unit_scale=self.dequantize is not None)
        )

    def event(self) -> Event:
        widths = [self._width(path) for path in (self.path, self.test_path) if path is not None]
        if widths[0] != widths[-1]:
            raise ValueError(f"'{self.path}' has {widths[0]} columns of numbers, but '{self.test_path}' {widths[-1]}")
        return (widths[0],)

    def _width(self, path: str) -> int:
        """The number of coordinates in a file that has rows."""
        with opened(path) as file:
            # A line of names and a row: a large file of empty lines is not searched.
            row = next(self._table(io.BytesIO(file.read(2 * LONGEST)), path).rows(), None)
            if row is None:
                raise ValueError("has no rows")
            return len(row.x)

    def coordinate_names(self) -> tuple[str, ...] | None:
        with opened(self.path) as file:
            return self._table(io.BytesIO(file.read(2 * LONGEST)), self.path).layout.names

    def class_names(self) -> tuple[str, ...] | None:
        return None if self.labels is None else self._parsed("train").labels.names

    def label_name(self) -> str | None:
        if self.labels is None or isinstance(self.labels, str):
            return self.labels
        with opened(self.path) as file:
            return self._table(io.BytesIO(file.read(2 * LONGEST)), self.path).layout.label_name

    def files(self) -> tuple[Path, ...]:
        return tuple(located(path) for path in (self.path, self.test_path) if path is not None)

    def point_count(self, split: Split) -> int | None:
        if self.test_path is None:
            return row_count(split, self._row_count(self.path), self.test_fraction)
        return self._row_count(self.path if split == "train" else self.test_path)

    def class_count(self) -> int | None:
        if self.labels is None or self._row_count(self.path) is None:
            return None
        labels = self._parsed("train").labels
        if self.test_path is not None and self._row_count(self.test_path) is not None:
            self._parsed("test")  # raises an error if it has other labels
        return len(labels.names) if labels.names else max(labels.y) + 1

    def _row_count(self, path: str) -> int | None:
        """The number of rows of a short file. A long one is not read to check a spec."""
        with opened(path) as file:
            if fstat(file.fileno()).st_size > _COUNTED:
                return None
            return sum(1 for _ in self._table(file, path).rows())

    def load(self, split: Split, rng: Generator) -> Dataset:
        self.event()  # raises an error if a file cannot be read
        x, y = self._points(split)
        if self.test_path is None:
            rows = rows_of(split, len(x), self.test_fraction)
            x, y = x[rows], None if y is None else y[rows]
        return Dataset(scaled(x, rng, self.dequantize), y)

    def _points(self, split: Split) -> tuple[Tensor, Tensor | None]:
        """All rows of a file, and their labels."""
        rows = self._parsed(split)
        x = torch.frombuffer(rows.numbers, dtype=torch.float64).view(-1, rows.width)
        check_numbers(x, self.dequantize, self.values)
        return x, torch.tensor(rows.labels.y) if self.labels is not None else None

    def _parsed(self, split: Split) -> Rows:
        """All rows of the file of a split. Labels of held-out rows have the numbers that they have in training rows."""
        reader = None if self.labels is None else LabelReader()
        with opened(self.path) as file:
            rows = read_rows(self._table(file, self.path), reader)
        if split == "test" and self.test_path is not None:
            with opened(self.test_path) as file:
                rows = read_rows(self._table(file, self.test_path), reader)
        return rows

    def _table(self, file: IO[bytes], path: str) -> Table:
        """The table in a file; columns of that with the held-out rows may be in another order."""
        columns: Sequence[Column] | None = self.columns
        if columns is None and path == self.test_path:
            names = self.coordinate_names() or ()
            columns = names if 0 < len(names) == len(set(names)) else None
        return Table(file, self.delimiter, columns, self.labels)
