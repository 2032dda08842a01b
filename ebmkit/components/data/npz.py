"""Arrays of .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.components.data.headers import npz_header, npz_integers
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
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator


@component("npz")
class Npz(Data):
    """Rows of an array in a NumPy .npz file.

        row i is held out if frac(i / 1.618...) < test_fraction

    The rule spreads the held-out rows evenly and is the same in every run, for every seed. A flat array contains
    one-dimensional points.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        x: name of the array of points, one per row.
        y: name of an array of integer labels; null for none.
        test_fraction: fraction of the rows that is held out.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers unchanged.

    Reference: NEP 1 of numpy (the format); Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: npz, path: blobs.npz, x: points, test_fraction: 0.1}
    """

    path: FilePath = "data.npz"
    x: str = "x"
    y: str | None = None
    test_fraction: TestFraction = 0.2
    dequantize: Levels | None = None

    def traits(self) -> DataTraits:
        return super().traits()._replace(labelled=self.y is not None, unit_scale=self.dequantize is not None)

    def event(self) -> Event:
        points = npz_header(self.path, self.x)
        event = points.event()
        if self.y is not None:
            labels = npz_header(self.path, self.y)
            if labels.shape != points.shape[:1] or "float" in labels.dtype:
                raise ValueError(
                    f"'{self.y}' contains {labels.dtype} numbers of shape {labels.shape}, but labels are one integer "
                    f"for each of {points.shape[0]} points"
                )
        return event

    def files(self) -> tuple[Path, ...]:
        return (located(self.path),)

    def point_count(self, split: Split) -> int | None:
        return row_count(split, npz_header(self.path, self.x).shape[0], self.test_fraction)

    def class_count(self) -> int | None:
        labels = None if self.y is None else npz_integers(self.path, self.y)
        return None if labels is None else max(labels) + 1

    def load(self, split: Split, rng: Generator) -> Dataset:
        from ebmkit.components.data.arrays import read_npz

        event = self.event()  # raises an error if the file cannot be read
        x = read_npz(self.path, self.x).reshape(-1, *event)
        check_numbers(x, self.dequantize)
        rows = rows_of(split, len(x), self.test_fraction)
        y = read_npz(self.path, self.y).long()[rows] if self.y else None
        return Dataset(scaled(x[rows], rng, self.dequantize), y)
