"""Headers of arrays in files: type, shape and offset of their numbers, read without torch or numpy.

These headers are all that is read to check a spec. Files are untrusted: the number of bytes read is bounded, nothing is
unpickled, and every error becomes a ValueError that names the file.
"""

from __future__ import annotations

import ast
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from math import prod
from typing import IO, NamedTuple, cast

from ebmkit.contracts.files import absence, located
from ebmkit.contracts.kinds import Event
from ebmkit.storage.expansion import check_expansion, check_sparse
from ebmkit.storage.regular import open_regular

#: Maximum number of bytes read to find the header of one array; numpy and safetensors write a few hundred.
MOST = 1 << 20

#: Maximum number of bytes of the text inside an npy header; numpy has the same limit.
NPY_TEXT = 10_000

#: Maximum number of dimensions of an array; numpy has the same limit.
DIMENSIONS = 64

#: torch's name of a type -> its size in bytes, and its names in npy and safetensors.
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
#: Integers -> their letters in `struct`.
_STRUCT = {"bool": "?"} | {
    f"{sign}int{8 * size}": letter.upper() if sign else letter
    for sign in ("", "u")
    for size, letter in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
}


class Header(NamedTuple):
    """An array in a file."""

    dtype: str  # torch's name
    shape: tuple[int, ...]
    offset: int  # of the first number, in bytes
    swapped: bool = False  # the most significant byte comes first
    fortran: bool = False  # the first index runs fastest

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * _TYPES[self.dtype][0]

    def event(self) -> Event:
        """The shape of a row. A flat array contains one-dimensional points."""
        if not self.shape or self.shape[0] < 2 or 0 in self.shape:
            raise ValueError(f"an array of shape {self.shape} has too few points for a training and a test set")
        return self.shape[1:] or (1,)


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """A regular file, open for reading. Errors of opening and of reading it become ValueErrors that name the file."""
    try:
        with open_regular(located(path)) as stream:
            yield stream
    except FileNotFoundError:
        raise ValueError(absence(path)) from None
    except OSError as error:
        raise ValueError(f"'{path}' cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"'{path}' is damaged: {error}") from None
    except ValueError as error:
        raise ValueError(f"'{path}' {error}") from None


def npy_header(path: str) -> Header:
    """The header of a .npy file."""
    with opened(path) as file:
        header = read_npy_header(file, os.fstat(file.fileno()).st_size)
        check_sparse(file.fileno())  # every number is read and checked later, which would take hours
        return header


def npz_header(path: str, name: str) -> Header:
    """The header of one array in a .npz file."""
    with opened(path) as file, npz_member(cast("IO[bytes]", LimitedFile(file)), name) as (member, size):
        return read_npy_header(member, size)


def npz_integers(path: str, name: str) -> tuple[int, ...] | None:
    """The integers of a small array in a .npz file; None if they take more than half of `MOST` bytes."""
    with opened(path) as file, npz_member(cast("IO[bytes]", LimitedFile(file)), name) as (member, size):
        header = read_npy_header(member, size)
        if header.nbytes > MOST // 2 or header.dtype not in _STRUCT:
            return None
        order = ">" if header.swapped else "<"
        numbers = struct.unpack(f"{order}{prod(header.shape)}{_STRUCT[header.dtype]}", member.read())
        return tuple(int(number) for number in numbers)


def safetensors_header(path: str, name: str) -> Header:
    """The header of one tensor in a .safetensors file."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if length > MOST:
            raise ValueError(f"has a header of {length} bytes, but at most {MOST} are read")
        try:
            tensors = json.loads(file.read(length))
        except (ValueError, RecursionError):
            raise ValueError("has a damaged header, or is not a safetensors file") from None
        tensors = tensors if isinstance(tensors, dict) else {}
        tensors.pop("__metadata__", None)
        if name not in tensors:
            raise ValueError(f"contains no tensor '{name}'{_instead(tensors)}")
        match tensors[name]:
            case {"dtype": str(code), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
                if code not in _SAFETENSORS:
                    raise ValueError(f"contains '{name}' as {code}, which is not a supported type of numbers")
                header = Header(_SAFETENSORS[code], tuple(shape), 8 + length + begin)
            case _:
                raise ValueError(f"describes the tensor '{name}' in an unknown format")
        if not 0 <= begin <= end <= size - 8 - length:
            raise ValueError(f"is damaged: some numbers of '{name}' are missing")
        _check_room(header, 8 + length + end)
        check_sparse(file.fileno())
        return header


@contextmanager
def npz_member(file: IO[bytes], name: str) -> Iterator[tuple[IO[bytes], int]]:
    """One array of an open .npz file, as a stream, and its size in bytes."""
    with zipfile.ZipFile(file) as archive:
        found = [member for member in archive.infolist() if member.filename == f"{name}.npy"]
        if len(found) != 1:
            names = [member.filename.removesuffix(".npy") for member in archive.infolist()]
            raise ValueError(f"contains '{name}' twice" if found else f"contains no array '{name}'{_instead(names)}")
        (member,) = found
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise ValueError(f"contains '{name}' encrypted, or compressed by a method that numpy does not use")
        check_expansion(
            member.file_size, file.seek(0, os.SEEK_END), "save it with numpy.savez, which compresses nothing"
        )
        with archive.open(member) as stream:
            yield stream, member.file_size


def read_npy_header(stream: IO[bytes], size: int) -> Header:
    """Read the header at the start of a stream of this many bytes; the numbers follow in the stream."""
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\1", b"\2", b"\3"):
        raise ValueError("is not an array in numpy's format")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > NPY_TEXT:
        raise ValueError(f"has a header of {length} bytes, but at most {NPY_TEXT} are read")
    try:
        described = ast.literal_eval(stream.read(length).decode())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ValueError("has a damaged header") from None
    match described:
        case {"descr": str(descr), "fortran_order": bool(fortran), "shape": tuple(shape)}:
            if descr[:1] not in ("<", ">", "|") or descr[1:] not in _NPY:
                pickled = "; Python objects are stored as pickles, which are never read" if "O" in descr else ""
                raise ValueError(f"contains {descr!r}, which is not a supported type of numbers{pickled}")
            header = Header(_NPY[descr[1:]], shape, 8 + width + length, swapped=descr[0] == ">", fortran=fortran)
        case {"descr": list()}:
            raise ValueError("contains records with named fields, but an array of numbers is needed")
        case _:
            raise ValueError("has a damaged header")
    _check_room(header, size)
    return header


def _check_room(header: Header, size: int) -> None:
    """Raise a ValueError unless the numbers fill the file from the end of the header to the end of the file."""
    if not all(type(length) is int and length >= 0 for length in header.shape):
        raise ValueError(f"has a damaged header: shape {header.shape}")
    if len(header.shape) > DIMENSIONS:
        raise ValueError(f"has an array of {len(header.shape)} dimensions, but at most {DIMENSIONS} are supported")
    if header.nbytes != size - header.offset:
        raise ValueError(
            f"is damaged: {header.dtype} numbers of shape {header.shape} take {header.nbytes} bytes, "
            f"but there are {size - header.offset}"
        )


def _instead(names: Iterable[str]) -> str:
    """The names that exist, to follow a message that one was not found."""
    some = list(islice(names, 10))
    return f"; it contains {', '.join(some)}" if some else ""


class LimitedFile(io.RawIOBase):
    """A file of which at most `MOST` bytes can be read, whatever its own directory claims."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.left = MOST

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(f"has a directory of more than {MOST} bytes, but at most {MOST} are read")
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True
