"""How arrays are written in files: the type, shape and place of their numbers, read without torch or numpy.

A spec is checked with nothing but these headers. Files come from strangers: what is read is bounded, nothing is
unpickled, and whatever is wrong becomes a ValueError that names the file.
"""

from __future__ import annotations

import ast
import io
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from math import prod
from pathlib import Path
from typing import IO, NamedTuple, cast

from ebmkit.contracts.kinds import Event

#: Bytes that may be read to find the header of one array; numpy and safetensors write a few hundred.
MOST = 1 << 20

#: Bytes of the text inside an npy header; numpy has the same limit.
NPY_TEXT = 10_000

#: Deflate cannot make more bytes than this out of one.
DEFLATE_RATIO = 1032

#: torch's name of a type -> its bytes, and how npy and safetensors call it.
_TYPES = {
    "bool": (1, "b1", "BOOL"),
    "uint8": (1, "u1", "U8"),
    "uint16": (2, "u2", "U16"),
    "uint32": (4, "u4", "U32"),
    "uint64": (8, "u8", "U64"),
    "int8": (1, "i1", "I8"),
    "int16": (2, "i2", "I16"),
    "int32": (4, "i4", "I32"),
    "int64": (8, "i8", "I64"),
    "float16": (2, "f2", "F16"),
    "bfloat16": (2, "", "BF16"),
    "float32": (4, "f4", "F32"),
    "float64": (8, "f8", "F64"),
}
_NPY = {npy: name for name, (_, npy, _) in _TYPES.items() if npy}
_SAFETENSORS = {code: name for name, (_, _, code) in _TYPES.items()}


class Header(NamedTuple):
    """An array in a file."""

    dtype: str  # as torch calls it
    shape: tuple[int, ...]
    offset: int  # of the first number, in bytes
    swapped: bool = False  # the most significant byte comes first
    fortran: bool = False  # the first index runs fastest

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * _TYPES[self.dtype][0]

    def event(self) -> Event:
        """The shape of a row. A flat array holds points on a line."""
        if not self.shape or self.shape[0] < 2 or 0 in self.shape:
            raise ValueError(f"an array of shape {self.shape} holds no points to train and to test with")
        return self.shape[1:] or (1,)


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """A regular file, open for reading. What is wrong with it, or found wrong inside, is told as a ValueError."""
    file = Path(path)
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would be waited for, a device may never end
            raise ValueError("is not a regular file")
        with file.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        where = "" if file.is_absolute() else f" in {Path.cwd()}"
        raise ValueError(f"there is no file '{path}'{where}") from None
    except OSError as error:
        raise ValueError(f"'{path}' cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"'{path}' is damaged: {error}") from None
    except ValueError as error:
        raise ValueError(f"'{path}' {error}") from None


def npy_header(path: str) -> Header:
    """The header of a .npy file."""
    with opened(path) as file:
        return read_npy_header(file, os.fstat(file.fileno()).st_size)


def npz_header(path: str, name: str) -> Header:
    """The header of one array in a .npz file."""
    with opened(path) as file, npz_member(cast("IO[bytes]", _Frugal(file)), name) as (member, size):
        return read_npy_header(member, size)


def safetensors_header(path: str, name: str) -> Header:
    """The header of one tensor in a .safetensors file."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if length > MOST:
            raise ValueError(f"has a header of {length} bytes; more than {MOST} are not read")
        try:
            tensors = json.loads(file.read(length))
        except (ValueError, RecursionError):
            raise ValueError("has a damaged header, or is no safetensors file") from None
        tensors = tensors if isinstance(tensors, dict) else {}
        tensors.pop("__metadata__", None)
        if name not in tensors:
            raise ValueError(f"holds no tensor '{name}'{_instead(tensors)}")
        match tensors[name]:
            case {"dtype": str(code), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
                if code not in _SAFETENSORS:
                    raise ValueError(f"holds '{name}' as {code}, which is not a type of numbers that is read")
                header = Header(_SAFETENSORS[code], tuple(shape), 8 + length + begin)
            case _:
                raise ValueError(f"describes the tensor '{name}' in an unknown way")
        if not 0 <= begin <= end <= size - 8 - length:
            raise ValueError(f"is damaged: the numbers of '{name}' are not all there")
        _check_room(header, 8 + length + end)
        return header


@contextmanager
def npz_member(file: IO[bytes], name: str) -> Iterator[tuple[IO[bytes], int]]:
    """One array of an open .npz file, as a stream of so many bytes."""
    with zipfile.ZipFile(file) as archive:
        found = [member for member in archive.infolist() if member.filename == f"{name}.npy"]
        if len(found) != 1:
            names = [member.filename.removesuffix(".npy") for member in archive.infolist()]
            raise ValueError(f"holds two arrays '{name}'" if found else f"holds no array '{name}'{_instead(names)}")
        (member,) = found
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise ValueError(f"holds '{name}' encrypted, or compressed in a way that numpy does not")
        if member.file_size > DEFLATE_RATIO * file.seek(0, os.SEEK_END):
            raise ValueError(f"is too small for the {member.file_size} bytes that it claims to hold")
        with archive.open(member) as stream:
            yield stream, member.file_size


def read_npy_header(stream: IO[bytes], size: int) -> Header:
    """Read the header that a stream of so many bytes begins with; what follows in the stream are the numbers."""
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\1", b"\2", b"\3"):
        raise ValueError("is not an array in numpy's format")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > NPY_TEXT:
        raise ValueError(f"has a header of {length} bytes; more than {NPY_TEXT} are not read")
    try:
        described = ast.literal_eval(stream.read(length).decode())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ValueError("has a damaged header") from None
    match described:
        case {"descr": str(descr), "fortran_order": bool(fortran), "shape": tuple(shape)}:
            if descr[:1] not in ("<", ">", "|") or descr[1:] not in _NPY:
                pickled = "; Python objects can only be pickled, and no pickle is ever read" if "O" in descr else ""
                raise ValueError(f"holds {descr!r}, which is not a type of numbers that is read{pickled}")
            header = Header(_NPY[descr[1:]], shape, 8 + width + length, swapped=descr[0] == ">", fortran=fortran)
        case {"descr": list()}:
            raise ValueError("holds records with named fields, and an array of numbers is needed")
        case _:
            raise ValueError("has a damaged header")
    _check_room(header, size)
    return header


def _check_room(header: Header, size: int) -> None:
    """The numbers begin behind the header and end with the file: anything else is damage."""
    if not all(type(length) is int and length >= 0 for length in header.shape):
        raise ValueError(f"has a damaged header: shape {header.shape}")
    if header.nbytes != size - header.offset:
        raise ValueError(
            f"is damaged: {header.dtype} numbers of shape {header.shape} take {header.nbytes} bytes, "
            f"and there are {size - header.offset}"
        )


def _instead(names: Iterable[str]) -> str:
    """What there is, when a name was not found."""
    some = list(islice(names, 10))
    return f"; it holds {', '.join(some)}" if some else ""


class _Frugal(io.RawIOBase):
    """A file of which no more than a header's worth can be read, whatever its own directory says."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.left = MOST

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(f"has a directory of more than {MOST} bytes, which is not read")
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True
