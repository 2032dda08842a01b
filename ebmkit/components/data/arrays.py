"""Arrays from files as tensors, in the type in which they were written."""

from __future__ import annotations

import mmap
import warnings
from typing import TYPE_CHECKING

from ebmkit.components.data.headers import Header, npz_member, opened, read_npy_header
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Bytes that are unpacked at a time.
_PIECE = 1 << 20


def read_npz(path: str, name: str) -> Tensor:
    """One array of a .npz file, in memory. With its last byte the archive's checksum is compared."""
    with opened(path) as file, npz_member(file, name) as (member, size):
        header = read_npy_header(member, size)
        numbers = bytearray(header.nbytes)
        rest = memoryview(numbers)
        while rest:
            count = member.readinto(rest[:_PIECE])  # type: ignore[attr-defined]  # every stream of a zip file has it
            if not count:
                raise ValueError(f"is damaged: '{name}' ends {len(rest)} bytes too early")
            rest = rest[count:]
    return _tensor(numbers, header._replace(offset=0))


def map_array(path: str, header: Header) -> Tensor:
    """An array of an uncompressed file, left where it is: the system reads a page when somebody touches it."""
    with opened(path) as file:
        # Read-only and shared: it costs no memory however large it is, and nobody can write into the user's file.
        return _tensor(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), header)


def _tensor(numbers: bytearray | mmap.mmap, header: Header) -> Tensor:
    """The array that a header describes; a view of `numbers` wherever torch can compute with them as they lie."""
    dtype: torch.dtype = getattr(torch, header.dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given buffer is not writable")  # that is the point
        flat = torch.frombuffer(numbers, dtype=torch.uint8, offset=header.offset, count=header.nbytes)
    if header.swapped:
        flat = flat.view(-1, dtype.itemsize).flip(1).flatten()
    elif header.offset % dtype.itemsize:
        flat = flat.clone()  # old files begin anywhere, and numbers must not straddle the words of the machine
    if header.fortran:
        return flat.view(dtype).view(header.shape[::-1]).permute(*reversed(range(len(header.shape))))
    return flat.view(dtype).view(header.shape)
