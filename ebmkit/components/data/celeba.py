"""CelebA: photographs of faces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Le

from ebmkit.components.data.headers import npy_header
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split

if TYPE_CHECKING:
    from torch import Generator

#: Number of images in the parts of the official partition, in their order: training, validation, test.
TRAIN, VALIDATION, TEST = 162_770, 19_867, 19_962
IMAGES = TRAIN + VALIDATION + TEST


@component("celeba")
class CelebA(Data):
    """CelebA: colour photographs of faces, 162,770 for training and 19,962 held out.

        x = 2 k / 255 - 1,    or dequantized    x = 2 (k + u) / 256 - 1,    u ~ U[0, 1)

    A state has shape (3, side, side): red, green and blue. The 19,867 images of the official validation set are not
    used. The images are JPEG files that have to be requested at https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html.
    ebmkit does not decode them: convert them to one .npy file, cropped and resized as in the paper that you follow
    (below: Song and Ermon, 2019, 32 pixels of the middle 140).

        import numpy, PIL.Image
        x = numpy.lib.format.open_memmap("celeba-32.npy", "w+", "uint8", (202599, 3, 32, 32))
        for n in range(len(x)):
            image = PIL.Image.open(f"img_align_celeba/{n + 1:06}.jpg")
            image = image.crop((19, 39, 159, 179)).resize((32, 32), PIL.Image.BILINEAR)
            x[n] = numpy.asarray(image).transpose(2, 0, 1)
        x.flush()

    In memory, images of 32 pixels take 2.2 GB. Without the file a spec can be checked, also with `ebmkit run SPEC
    --dry-run`.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        side: height and width of the images in it.
        dequantize: add uniform noise of the width of a grey level, so that there is a density. It is drawn once.

    Reference: Liu et al., "Deep learning face attributes in the wild", arXiv:1411.7766; dequantisation: Theis et al.,
    arXiv:1511.01844, section 3.1.

    Example: data: {use: celeba, path: celeba-64.npy, side: 64, dequantize: true}
    """

    unit_scale: ClassVar[bool] = True

    path: FilePath = "celeba-32.npy"
    side: Annotated[int, Ge(1), Le(1024)] = 32
    dequantize: bool = False

    def event(self) -> Event:
        event = (3, self.side, self.side)
        if located(self.path).exists():  # the shape is known without it
            header = npy_header(self.path)
            if (header.dtype, header.shape) != ("uint8", (IMAGES, *event)):
                raise ValueError(
                    f"'{self.path}' contains {header.dtype} numbers of shape {header.shape}, but all images of the "
                    f"data set, in their order, are uint8 numbers of shape {(IMAGES, *event)}"
                )
        return event

    def files(self) -> tuple[Path, ...]:
        return (located(self.path),)

    def origin(self) -> str:
        return (
            f"the images come from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html; 'ebmkit show data celeba' prints "
            f"seven lines of Python that convert them to '{self.path}'"
        )

    def point_count(self, split: Split) -> int:
        return TRAIN if split == "train" else TEST

    def load(self, split: Split, rng: Generator) -> Dataset:
        from ebmkit.components.data.arrays import map_array
        from ebmkit.components.data.pixels import converted

        self.event()  # raises an error if the file cannot be read
        images = map_array(self.path, npy_header(self.path))
        return Dataset(converted(images[:TRAIN] if split == "train" else images[-TEST:], self.dequantize, rng))
