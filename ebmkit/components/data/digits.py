"""Handwritten digits, which are part of the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Le, MinLen

from ebmkit.components.data.headers import npz_integers
from ebmkit.components.data.rows import TestFraction, dequantized, is_held_out, rows_of
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Variation
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: A pixel is the number of dark pixels in a block of 4 x 4: 0 to 16.
LEVELS = 17

#: Height and width of an image.
SIDE = 8

FILE = str(Path(__file__).with_name("digits.npz"))

Side = Annotated[int, Ge(1), Le(1024)]


@component("digits")
class Digits(Data):
    """Handwritten digits (UCI): 1797 images of 8 x 8 pixels with 17 grey levels k; the label is the digit.

        x = 2 k / 16 - 1,    or dequantized    x = 2 (k + u) / 17 - 1,    u ~ U[0, 1)
        binarized:  the higher value where k >= 8, else the lower one

    Image i is held out if frac(i / 1.618...) < test_fraction, which is the same in every run.

    Parameters:
        labels: the digits to use; null uses all ten.
        resize: height and width of the images, by bilinear interpolation; null keeps 8 x 8.
        dequantize: add uniform noise of the width of a grey level, so that there is a density; after resizing, because
            interpolated images span only 64 dimensions. It is drawn once.
        binarize: `binary` for pixels of 0 and 1, `spin` for -1 and +1, after resizing; null keeps grey levels.
        test_fraction: fraction of the images that is held out.

    Reference: Alpaydin and Kaynak, "Optical recognition of handwritten digits", UCI Machine Learning Repository, 1998,
    doi:10.24432/C50P49; dequantisation: Theis et al., arXiv:1511.01844, section 3.1.

    Example: data: {use: digits, resize: [28, 28], dequantize: true}
    """

    unit_scale: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    labels: Annotated[tuple[Annotated[int, Ge(0), Le(9)], ...], MinLen(1)] | None = None
    resize: tuple[Side, Side] | None = None
    dequantize: bool = False
    binarize: Literal["binary", "spin"] | None = None
    test_fraction: TestFraction = 0.2

    def __post_init__(self) -> None:
        if self.binarize and self.dequantize:
            raise ValueError(
                "'dequantize' is for a density of grey levels, but 'binarize' leaves two values: choose one"
            )

    def traits(self) -> DataTraits:
        # Some pixels at the edge are the same in all images; smaller images are averages over more than these.
        varied = self.dequantize or (max(self.event()) < SIDE and not self.binarize)
        variation: Variation = "full" if varied else "constant"
        return super().traits()._replace(space=self.binarize or "real", variation=variation)

    def event(self) -> Event:
        return (1, *(self.resize or (SIDE, SIDE)))

    def point_count(self, split: Split) -> int:
        # Labels are counted in the rows of the split, which is the same for every choice of labels.
        chosen = [self.labels is None or label in self.labels for label in self._digits()]
        held_out = [is_held_out(row, self.test_fraction) for row in range(len(chosen))]
        return sum(want and held == (split == "test") for want, held in zip(chosen, held_out, strict=True))

    def class_count(self) -> int:
        return max(self.labels) + 1 if self.labels else 10

    def _digits(self) -> tuple[int, ...]:
        digits = npz_integers(FILE, "y")
        assert digits is not None  # a small file
        return digits

    def load(self, split: Split, rng: Generator) -> Dataset:
        from ebmkit.components.data.arrays import read_npz

        k, y = read_npz(FILE, "x").unsqueeze(1), read_npz(FILE, "y").long()
        # Split before digits are selected: no spec trains on an image that another one holds out.
        rows = rows_of(split, len(k), self.test_fraction)
        if self.labels is not None:
            rows = rows[torch.isin(y[rows], torch.tensor(self.labels))]
        if not len(rows):
            raise ValueError(f"no {split} image has one of the labels {list(self.labels or ())}")
        k = k[rows].double()
        if self.resize:
            k = torch.nn.functional.interpolate(k, size=self.resize, mode="bilinear")
        return Dataset(self._pixels(k, rng).to(torch.get_default_dtype()), y[rows])

    def _pixels(self, k: Tensor, rng: Generator) -> Tensor:
        if self.binarize:
            dark = (k >= LEVELS // 2).double()
            return dark if self.binarize == "binary" else 2 * dark - 1
        return dequantized(k, LEVELS, rng) if self.dequantize else 2 * k / (LEVELS - 1) - 1
