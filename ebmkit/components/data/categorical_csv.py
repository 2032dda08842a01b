"""Tables of categories in CSV files."""

from __future__ import annotations

import re
from functools import lru_cache
from os import fstat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from annotated_types import Ge, MinLen

from ebmkit.components.data.headers import opened
from ebmkit.components.data.rows import TestFraction, check_paths, row_count, rows_of
from ebmkit.components.data.table import Column, Table
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event, Space
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator

#: Maximum number of bytes of a file, all of which is read to find the categories.
LARGEST = 1 << 28
#: Maximum number of categories of a column.
MOST = 10_000


class Words(NamedTuple):
    """The cells of a table, row by row, and what is known of its columns."""

    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    names: tuple[str, ...] | None
    #: The different words of every column, in order.
    categories: tuple[tuple[str, ...], ...]


@component("categorical_csv")
class CategoricalCsv(Data):
    """Rows of a table of words or integers in a CSV file: a category for each column.

        row i is held out if frac(i / 1.618...) < test_fraction

    The categories of a column are its different words, numbered in sorted order, as numbers if all of them are.
    Samples, pictures and files have these words. All units have the number of categories of the column with the most:
    in another column the last ones do not occur. With `test_path` the rows of that file are held out; a word that no
    training row has is then an error.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        columns: the columns to use, by name or counted from 0; null uses all.
        header: whether the first line has the names of the columns.
        delimiter: character between two cells.
        test_path: a file of the same form with the held-out rows; null holds out rows of `path`.
        test_fraction: fraction of the rows that is held out if there is no `test_path`.

    Reference: RFC 4180 (the format).

    Example: data: {use: categorical_csv, path: mushrooms.csv, columns: [cap, odour, ring]}
    """

    space: ClassVar[Space] = "categorical"

    path: FilePath = "data.csv"
    columns: Annotated[tuple[str | Annotated[int, Ge(0)], ...], MinLen(1)] | None = None
    header: bool = True
    delimiter: Literal[",", ";", "\t"] = ","
    test_path: FilePath | None = None
    test_fraction: TestFraction = 0.2

    def __post_init__(self) -> None:
        check_paths(self.path, self.test_path)

    def event(self) -> Event:
        """Reads the files, so that every mistake in them is found before anything is built."""
        categories = self.category_names()
        if self.test_path is not None:
            self._check_known(self.test_path, self._words(self.test_path), categories)
        if self.category_count() < 2:
            raise ValueError(f"'{self.path}' has a single category in every column, but at least 2 are needed")
        return (len(categories),)

    def _check_known(self, path: str, words: Words, categories: tuple[tuple[str, ...], ...]) -> None:
        if words.rows and len(words.rows[0]) != len(categories):
            raise ValueError(f"'{path}' has {len(words.rows[0])} columns, but '{self.path}' {len(categories)}")
        for column, names in enumerate(categories):
            known = set(names)
            for line, row in zip(words.lines, words.rows, strict=True):
                if row[column] not in known:
                    some = ", ".join(names[:10])
                    raise ValueError(f"'{path}' has {row[column]!r} in line {line}, but training rows have {some}")

    def coordinate_names(self) -> tuple[str, ...] | None:
        return self._words(self.path).names

    def category_count(self) -> int:
        return max(map(len, self.category_names()))

    def category_names(self) -> tuple[tuple[str, ...], ...]:
        return self._words(self.path).categories

    def files(self) -> tuple[Path, ...]:
        return tuple(located(path) for path in (self.path, self.test_path) if path is not None)

    def point_count(self, split: Split) -> int | None:
        if self.test_path is None:
            return row_count(split, len(self._words(self.path).rows), self.test_fraction)
        return len(self._words(self.path if split == "train" else self.test_path).rows)

    def load(self, split: Split, rng: Generator) -> Dataset:
        self.event()  # raises an error if a file cannot be used
        numbers = [{name: number for number, name in enumerate(names)} for names in self.category_names()]
        words = self._words(self.path if split == "train" or self.test_path is None else self.test_path)
        coded = [[of[word] for of, word in zip(numbers, row, strict=True)] for row in words.rows]
        x = torch.tensor(coded, dtype=torch.get_default_dtype())
        return Dataset(x if self.test_path is not None else x[rows_of(split, len(x), self.test_fraction)])

    def _words(self, path: str) -> Words:
        """The cells of a file, read again only if it has changed."""
        with opened(path) as file:
            about = fstat(file.fileno())
            if about.st_size > LARGEST:
                raise ValueError(f"has {about.st_size:,} bytes, but at most {LARGEST:,} are read")
        how = self.delimiter, self.columns, self.header
        return _contents(path, str(located(path)), about.st_mtime_ns, about.st_size, *how)


@lru_cache(maxsize=4)
def _contents(
    path: str,
    place: str,
    changed: int,
    size: int,
    delimiter: str,
    columns: tuple[Column, ...] | None,
    header: bool,
) -> Words:
    with opened(path) as file:
        return _read(Table(file, delimiter, columns, None, named=header))


def _read(table: Table) -> Words:
    rows, lines = [], []
    for line, cells in table.words():
        for cell, position in zip(cells, table.layout.coordinates, strict=True):
            if not cell:
                raise ValueError(f"has no word in line {line}, column {position}: leave the column or the row out")
        rows.append(cells)
        lines.append(line)
    if not rows:
        raise ValueError("has no rows")
    categories = tuple(map(_in_order, zip(*rows, strict=True)))
    return Words(tuple(rows), tuple(lines), table.layout.names, categories)


def _in_order(column: tuple[str, ...]) -> tuple[str, ...]:
    """The different words of a column, or its integers by their size."""
    words = set(column)
    if len(words) > MOST:
        raise ValueError(f"has more than {MOST:,} different words in a column: they name rows rather than categories")
    integers = all(re.fullmatch(r"-?[0-9]{1,18}", word) for word in words)
    return tuple(sorted(words, key=lambda word: (int(word) if integers else 0, word)))
