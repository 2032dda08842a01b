"""Memory-mapped rows of .npy and .safetensors files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.components.data.headers import Header, npy_header, safetensors_header
from ebmkit.components.data.rows import (
    Levels,
    TestFraction,
    check_numbers,
    scaled,
)
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator


@component("tensor_file")
class TensorFile(Data):
    """Rows of a .npy or .safetensors file, which may be larger than memory.

        the first rows train, the last round(test_fraction N) are held out

    Float32 rows stay in the file, and a batch reads those that it needs; with another type, `dequantize` or a `scale`
    they are converted in memory. Held-out rows are the last ones, which needs no copy: shuffle a file that is sorted.
    A flat array contains one-dimensional points.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        x: name of the tensor of points in a .safetensors file; a .npy file has only one.
        test_fraction: fraction of the rows that is held out.
        dequantize: the number of grey levels of integer data k = 0 .. levels - 1, which become 2 (k + u) / levels - 1
            with u ~ U[0, 1); null leaves the numbers unchanged.

    Reference: NEP 1 of numpy and the safetensors format; Theis et al., arXiv:1511.01844, section 3.1 (dequantisation).

    Example: data: {use: tensor_file, path: images.safetensors, x: images, dequantize: 256}
    """

    path: FilePath = "data.npy"
    x: str = "x"
    test_fraction: TestFraction = 0.2
    dequantize: Levels | None = None

    def __post_init__(self) -> None:
        if not self.path.endswith((".npy", ".safetensors")):
            raise ValueError(f"'{self.path}' is neither a .npy nor a .safetensors file")
        if self.path.endswith(".npy") and self.x != "x":
            raise ValueError("a .npy file contains one array, which has no name: leave out 'x'")

    def header(self) -> Header:
        """The header of the array of rows."""
        return npy_header(self.path) if self.path.endswith(".npy") else safetensors_header(self.path, self.x)

    def traits(self) -> DataTraits:
        return super().traits()._replace(unit_scale=self.dequantize is not None)

    def event(self) -> Event:
        return self.header().event()

    def files(self) -> tuple[Path, ...]:
        return (located(self.path),)

    def point_count(self, split: Split) -> int:
        n = self.header().shape[0]
        held_out = min(max(1, round(self.test_fraction * n)), n - 1)
        return held_out if split == "test" else n - held_out

    def load(self, split: Split, rng: Generator) -> Dataset:
        from ebmkit.components.data.arrays import map_array

        event = self.event()  # raises an error if the file cannot be read
        x = map_array(self.path, self.header())
        x = x.unsqueeze(1) if x.dim() == len(event) else x
        first_test = self.point_count("train")
        train, test = x[:first_test], x[first_test:]
        rows, first_row = (train, 0) if split == "train" else (test, first_test)
        check_numbers(rows, self.dequantize, first_row)
        return Dataset(scaled(rows, rng, self.dequantize))
