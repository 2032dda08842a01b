"""Windows of a text."""

from __future__ import annotations

from functools import lru_cache
from os import fstat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Le, MinLen

from ebmkit.components.data.headers import opened
from ebmkit.components.data.rows import TestFraction, check_paths
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Data, Dataset, Event, Space
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator

#: Maximum number of bytes of a file.
LARGEST = 1 << 26
#: Characters that an error names, at most.
_NAMED = 10


@component("text")
class Text(Data):
    """Windows of a text file: states of `length` characters, as numbers of an alphabet.

        x_i = number of the character at position start + i,    start = 0, step, 2 step, ...

    The last part of the text is held out, so that no window of it overlaps with one of the training part. With
    `test_path` another file is held out instead. Without `alphabet` it is the characters of the training part in the
    order of their code points; one that occurs only in the held-out part is an error. The file is UTF-8; the end
    of a line is one character, which belongs to the alphabet, and the end of the last line does not count.

    Parameters:
        path: the file; a relative path is relative to the folder of the spec if it exists there, else to the
            working directory.
        length: number of characters of a window.
        step: distance of the starts of two windows; by default every position is a start, and windows overlap.
        alphabet: the characters, which get the numbers 0, 1, ... in this order; null finds them in the file.
        test_path: a file with the held-out text; null holds out the end of `path`.
        test_fraction: fraction of the text that is held out if there is no `test_path`.

    Reference: Shannon, "Prediction and entropy of printed English", Bell Syst. Tech. J. 30, 1951.

    Example: data: {use: text, path: letters.txt, length: 12, test_fraction: 0.1}
    """

    space: ClassVar[Space] = "categorical"

    path: FilePath = "data.txt"
    length: Annotated[int, Ge(1), Le(100_000)] = 8
    step: Annotated[int, Ge(1)] = 1
    alphabet: Annotated[str, MinLen(2)] | None = None
    test_path: FilePath | None = None
    test_fraction: TestFraction = 0.2

    def __post_init__(self) -> None:
        check_paths(self.path, self.test_path)
        if self.alphabet is not None and len(set(self.alphabet)) < len(self.alphabet):
            twice = next(letter for letter in self.alphabet if self.alphabet.count(letter) > 1)
            raise ValueError(f"'alphabet' has {twice!r} twice")

    def event(self) -> Event:
        """Reads the files, so that every mistake in them is found before anything is built."""
        alphabet = self._alphabet()
        for split in ("train", "test"):
            text, path = self._part(split)
            if unknown := sorted(set(text) - set(alphabet)):
                known = "'alphabet'" if self.alphabet else "the training part"
                more = ", ..." if len(unknown) > _NAMED else ""
                names = ", ".join(map(repr, unknown[:_NAMED]))
                raise ValueError(f"'{path}' contains {names}{more}, which {known} does not; give the whole 'alphabet'")
            if len(text) < self.length:
                part = "held-out" if split == "test" else "training"
                raise ValueError(
                    f"'{path}' has {len(text)} {part} characters, but a window has {self.length}: use a shorter "
                    "'length', or more text"
                )
        if len(alphabet) < 2:
            raise ValueError(f"'{self.path}' has {len(alphabet)} different characters, but at least 2 are needed")
        return (self.length,)

    def category_count(self) -> int:
        return len(self._alphabet())

    def category_names(self) -> tuple[tuple[str, ...], ...]:
        return (tuple(self._alphabet()),) * self.length

    def files(self) -> tuple[Path, ...]:
        return tuple(located(path) for path in (self.path, self.test_path) if path is not None)

    def point_count(self, split: Split) -> int:
        return max(0, (len(self._part(split)[0]) - self.length) // self.step + 1)

    def load(self, split: Split, rng: Generator) -> Dataset:
        self.event()  # raises an error if a file cannot be used
        numbers = {ord(letter): chr(number) for number, letter in enumerate(self._alphabet())}
        # Code points as integers: a loop over characters would take minutes for a large file.
        coded = bytearray(self._part(split)[0].translate(numbers).encode("utf-32-le", "surrogatepass"))
        line = torch.frombuffer(coded, dtype=torch.int32).to(torch.get_default_dtype())
        return Dataset(line.unfold(0, self.length, self.step).contiguous())

    def _alphabet(self) -> str:
        return self.alphabet or _letters(self._part("train")[0])

    def _part(self, split: Split) -> tuple[str, str]:
        """The text of a split, and the path that it comes from."""
        if self.test_path is not None:
            path = self.path if split == "train" else self.test_path
            return _read(path), path
        text = _read(self.path)
        first = len(text) - round(self.test_fraction * len(text))
        return (text[:first] if split == "train" else text[first:]), self.path


def _read(path: str) -> str:
    """The text of a file, read again only if it has changed."""
    with opened(path) as file:
        about = fstat(file.fileno())
        if about.st_size > LARGEST:
            raise ValueError(f"has {about.st_size:,} bytes, but at most {LARGEST:,} are read")
    return _contents(path, str(located(path)), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=4)
def _contents(path: str, place: str, changed: int, size: int) -> str:
    with opened(path) as file:
        try:
            return file.read(LARGEST + 1).decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"is not text in UTF-8 at byte {error.start}") from None


@lru_cache(maxsize=4)
def _letters(text: str) -> str:
    return "".join(sorted(set(text)))
