"""Arrays of .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.components.data.headers import npz_header, npz_integers
from ebmkit.components.data.npz_names import npz_names
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
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event, Space
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("npz")
class Npz(Data):
    """Rows of an array in a NumPy .npz file.

        row i is held out if frac(i / 1.618...) < test_fraction

    The rule spreads the held-out rows evenly and is the same in every run, for every seed. With `test_path` the rows of
    that file are held out instead. A flat array contains one-dimensional points. Arrays of strings `columns` and
    `classes` are the names of columns and of the labels 0, 1, ..., which samples, pictures and files then have too.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        x: name of the array of points, one per row.
        y: name of an array of integer labels; null for none.
        test_path: a file of the same form with the held-out rows; null holds out rows of `path`.
        test_fraction: fraction of the rows that is held out if there is no `test_path`.
        values: `real`, or `binary` for units of 0 and 1, or `spin` for units of -1 and +1; other numbers are then
            refused.
        categories: K, for categorical data: integers from 0 to K - 1; null for real numbers.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers unchanged.

    Reference: NEP 1 of numpy (the format); Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: npz, path: blobs.npz, x: points, test_fraction: 0.1}
    """

    path: FilePath = "data.npz"
    x: str = "x"
    y: str | None = None
    test_path: FilePath | None = None
    test_fraction: TestFraction = 0.2
    values: Values = "real"
    categories: Levels | None = None
    dequantize: Levels | None = None

    def __post_init__(self) -> None:
        check_paths(self.path, self.test_path)
        check_values(self.values, self.dequantize, self.categories)

    def traits(self) -> DataTraits:
        space: Space = self.values if self.categories is None else "categorical"
        labelled, unit_scale = self.y is not None, self.dequantize is not None
        return super().traits()._replace(space=space, labelled=labelled, unit_scale=unit_scale)

    def category_count(self) -> int | None:
        return self.categories

    def coordinate_names(self) -> tuple[str, ...] | None:
        event = self.event()
        return npz_names(self.path, "columns", event[0]) if len(event) == 1 else None

    def class_names(self) -> tuple[str, ...] | None:
        names = None if self.y is None else npz_names(self.path, "classes")
        return names if names and len(names) >= (self.class_count() or 0) else None

    def event(self) -> Event:
        event = self._event(self.path)
        if self.test_path is not None and (other := self._event(self.test_path)) != event:
            raise ValueError(f"'{self.path}' has points of shape {event}, but '{self.test_path}' of shape {other}")
        return event

    def _event(self, path: str) -> Event:
        points = npz_header(path, self.x)
        event = points.event()
        if self.y is not None:
            labels = npz_header(path, self.y)
            if labels.shape != points.shape[:1] or "float" in labels.dtype:
                raise ValueError(
                    f"'{self.y}' contains {labels.dtype} numbers of shape {labels.shape}, but labels are one integer "
                    f"for each of {points.shape[0]} points"
                )
        return event

    def files(self) -> tuple[Path, ...]:
        return tuple(located(path) for path in (self.path, self.test_path) if path is not None)

    def point_count(self, split: Split) -> int | None:
        if self.test_path is not None:
            return npz_header(self.path if split == "train" else self.test_path, self.x).shape[0]
        return row_count(split, npz_header(self.path, self.x).shape[0], self.test_fraction)

    def class_count(self) -> int | None:
        labels = None if self.y is None else npz_integers(self.path, self.y)
        return None if labels is None else max(labels) + 1

    def load(self, split: Split, rng: Generator) -> Dataset:
        event = self.event()  # raises an error if a file cannot be read
        x, y = self._points(self.path if split == "train" or self.test_path is None else self.test_path, event)
        if self.test_path is None:
            rows = rows_of(split, len(x), self.test_fraction)
            x, y = x[rows], None if y is None else y[rows]
        return Dataset(scaled(x, rng, self.dequantize), y)

    def _points(self, path: str, event: Event) -> tuple[Tensor, Tensor | None]:
        """All rows of a file, and their labels."""
        from ebmkit.components.data.arrays import read_npz

        x = read_npz(path, self.x).reshape(-1, *event)
        called = "categories" if self.categories else "levels"
        check_numbers(x, self.dequantize or self.categories, self.values, called=called)
        return x, read_npz(path, self.y).long() if self.y else None
