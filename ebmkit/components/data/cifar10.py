"""CIFAR-10: small photographs of ten classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Le, MinLen

from ebmkit.components.data.headers import opened
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, as_written, located
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator

#: Files of each split, as named in the archive.
FILES = {"train": tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test": ("test_batch.bin",)}

SHAPE = (3, 32, 32)

#: Number of images in a file, and bytes of one: a label, and 1024 pixels of red, of green and of blue, row by row.
IMAGES, RECORD = 10_000, 1 + 3 * 32 * 32

CLASSES = 10


@component("cifar10")
class Cifar10(Data):
    """CIFAR-10: 60,000 colour photographs of 32 x 32 pixels in ten classes, 10,000 of them held out.

        x = 2 k / 255 - 1,    or dequantized    x = 2 (k + u) / 256 - 1,    u ~ U[0, 1)

    Labels: 0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck. A state has shape
    (3, 32, 32): red, green and blue. The files are not downloaded: unpack the *binary version*, cifar-10-binary.tar.gz,
    of https://www.cs.toronto.edu/~kriz/cifar.html. In memory they take 740 MB. Without them a spec can be checked, also
    with `ebmkit run SPEC --dry-run`.

    Parameters:
        folder: folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin; a relative path is relative to the
            folder of the spec if it exists there, else to the working directory.
        labels: the classes to use; null uses all ten.
        dequantize: add uniform noise of the width of a grey level, so that there is a density. It is drawn once.

    Reference: Krizhevsky, "Learning multiple layers of features from tiny images", technical report, University of
    Toronto, 2009; dequantisation: Theis et al., arXiv:1511.01844, section 3.1.

    Example: data: {use: cifar10, folder: cifar-10-batches-bin, dequantize: true}
    """

    unit_scale: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    folder: FilePath = "cifar-10-batches-bin"
    labels: Annotated[tuple[Annotated[int, Ge(0), Le(CLASSES - 1)], ...], MinLen(1)] | None = None
    dequantize: bool = False

    def event(self) -> Event:
        for path in self.files():
            # The shape is known without the files, but those that exist have to be the right ones.
            if path.exists() and (size := path.stat().st_size) != IMAGES * RECORD:
                raise ValueError(
                    f"'{path}' has {size:,} bytes, but {IMAGES:,} images of the binary version have {IMAGES * RECORD:,}"
                )
        return SHAPE

    def files(self) -> tuple[Path, ...]:
        return tuple(located(self.folder) / name for names in FILES.values() for name in names)

    def origin(self) -> str:
        return (
            "unpack cifar-10-binary.tar.gz of https://www.cs.toronto.edu/~kriz/cifar.html, "
            f"so that there is '{as_written(self, self.files()[0])}', or set 'folder:' to the folder of its files"
        )

    def point_count(self, split: Split) -> int | None:
        return len(FILES[split]) * IMAGES if self.labels is None else None

    def class_count(self) -> int:
        return max(self.labels) + 1 if self.labels else CLASSES

    def load(self, split: Split, rng: Generator) -> Dataset:
        from ebmkit.components.data.pixels import converted

        self.event()  # raises an error if the files cannot be read
        records = torch.empty(len(FILES[split]) * IMAGES, RECORD, dtype=torch.uint8)
        for n, name in enumerate(FILES[split]):
            part = records[n * IMAGES : (n + 1) * IMAGES].flatten()
            with opened(str(located(self.folder) / name)) as file:
                part.copy_(torch.frombuffer(bytearray(file.read(len(part))), dtype=torch.uint8))
        y = records[:, 0].long()
        if int(y.max()) >= CLASSES:
            image = int((y >= CLASSES).nonzero()[0])
            name = FILES[split][image // IMAGES]
            raise ValueError(f"'{name}': image {image % IMAGES} has the label {int(y[image])}, but labels are 0 to 9")
        if self.labels is not None:
            wanted = torch.isin(y, torch.tensor(self.labels))
            records, y = records[wanted], y[wanted]
        if not len(y):
            raise ValueError(f"no {split} image has one of the labels {list(self.labels or ())}")
        return Dataset(converted(records[:, 1:].view(-1, *SHAPE), self.dequantize, rng), y)
