"""Memory-mapped rows of .npy and .safetensors files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.components.data.headers import Header, npy_header, safetensors_header
from ebmkit.components.data.rows import (
    Levels,
    TestFraction,
    Values,
    check_numbers,
    check_paths,
    check_values,
    scaled,
)
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("tensor_file")
class TensorFile(Data):
    """Rows of a .npy or .safetensors file, which may be larger than memory.

        the first rows train, the last round(test_fraction N) are held out

    Float32 rows stay in the file, and a batch reads those that it needs; with another type, `dequantize` or a `scale`
    they are converted in memory. Held-out rows are the last ones, which needs no copy: shuffle a file that is sorted;
    or they are those of `test_path`. A flat array contains one-dimensional points.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        x: name of the tensor of points in a .safetensors file; a .npy file has only one.
        test_path: a file of the same form with the held-out rows; null holds out rows of `path`.
        test_fraction: fraction of the rows that is held out if there is no `test_path`.
        values: `real`, or `binary` for units of 0 and 1, or `spin` for units of -1 and +1; other numbers are then
            refused.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers unchanged.

    Reference: NEP 1 of numpy and the safetensors format; Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: tensor_file, path: images.safetensors, x: images, dequantize: 256}
    """

    path: FilePath = "data.npy"
    x: str = "x"
    test_path: FilePath | None = None
    test_fraction: TestFraction = 0.2
    values: Values = "real"
    dequantize: Levels | None = None

    def __post_init__(self) -> None:
        paths = [path for path in (self.path, self.test_path) if path is not None]
        for path in paths:
            if not path.endswith((".npy", ".safetensors")):
                raise ValueError(f"'{path}' is neither a .npy nor a .safetensors file")
        if all(path.endswith(".npy") for path in paths) and self.x != "x":
            raise ValueError("a .npy file contains one array, which has no name: leave out 'x'")
        check_paths(self.path, self.test_path)
        check_values(self.values, self.dequantize)

    def header(self, path: str) -> Header:
        """The header of the array of rows in a file."""
        return npy_header(path) if path.endswith(".npy") else safetensors_header(path, self.x)

    def traits(self) -> DataTraits:
        return super().traits()._replace(space=self.values, unit_scale=self.dequantize is not None)

    def event(self) -> Event:
        event = self.header(self.path).event()
        if self.test_path is not None and (other := self.header(self.test_path).event()) != event:
            raise ValueError(f"'{self.path}' has points of shape {event}, but '{self.test_path}' of shape {other}")
        return event

    def files(self) -> tuple[Path, ...]:
        return tuple(located(path) for path in (self.path, self.test_path) if path is not None)

    def point_count(self, split: Split) -> int:
        n = self.header(self.path).shape[0]
        if self.test_path is not None:
            return n if split == "train" else self.header(self.test_path).shape[0]
        held_out = min(max(1, round(self.test_fraction * n)), n - 1)
        return held_out if split == "test" else n - held_out

    def load(self, split: Split, rng: Generator) -> Dataset:
        event = self.event()  # raises an error if a file cannot be read
        rows, first_row = self._rows(self.path, event), 0
        if self.test_path is None:
            first_test = self.point_count("train")
            rows, first_row = (rows[:first_test], 0) if split == "train" else (rows[first_test:], first_test)
        elif split == "test":
            rows = self._rows(self.test_path, event)
        check_numbers(rows, self.dequantize, self.values, first_row)
        return Dataset(scaled(rows, rng, self.dequantize))

    def _rows(self, path: str, event: Event) -> Tensor:
        """All rows of a file, memory-mapped."""
        from ebmkit.components.data.arrays import map_array

        x = map_array(path, self.header(path))
        return x.unsqueeze(1) if x.dim() == len(event) else x
