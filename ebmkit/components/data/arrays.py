"""Arrays of files as tensors, in the type in which they are stored."""

from __future__ import annotations

import mmap
import warnings
from typing import TYPE_CHECKING

from ebmkit.components.data.headers import Header, npz_member, opened, read_npy_header
from ebmkit.contracts.lazy import torch
from ebmkit.storage.memory import available_memory

if TYPE_CHECKING:
    from torch import Tensor

#: Number of bytes that are decompressed at a time.
_PIECE = 1 << 20


def read_npz(path: str, name: str) -> Tensor:
    """One array of a .npz file, in memory. The checksum of the archive is verified at its last byte."""
    with opened(path) as file, npz_member(file, name) as (member, size):
        header = read_npy_header(member, size)
        if header.nbytes > (free := available_memory()):
            raise ValueError(
                f"contains '{name}' with {header.nbytes:,} bytes, but only {free:,} bytes of memory are free"
            )
        numbers = bytearray(header.nbytes)
        rest = memoryview(numbers)
        while rest:
            count = member.readinto(rest[:_PIECE])  # type: ignore[attr-defined]  # every stream of a zip file has it
            if not count:
                raise ValueError(f"is damaged: '{name}' ends {len(rest)} bytes too early")
            rest = rest[count:]
    return _tensor(numbers, header._replace(offset=0))


def map_array(path: str, header: Header) -> Tensor:
    """An array of an uncompressed file, memory-mapped: the system reads a page when it is accessed."""
    with opened(path) as file:
        # Read-only and shared: it costs no memory at any size, and the user's file cannot be written to.
        return _tensor(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), header)


def _tensor(numbers: bytearray | mmap.mmap, header: Header) -> Tensor:
    """The array described by a header; a view of `numbers` if torch supports their layout."""
    dtype: torch.dtype = getattr(torch, header.dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given buffer is not writable")  # intended
        flat = torch.frombuffer(numbers, dtype=torch.uint8, offset=header.offset, count=header.nbytes)
    if header.swapped:
        flat = flat.view(-1, dtype.itemsize).flip(1).flatten()
    elif header.offset % dtype.itemsize:
        flat = flat.clone()  # the numbers of old files may start at any byte, but have to be aligned
    if header.fortran:
        return flat.view(dtype).view(header.shape[::-1]).permute(*reversed(range(len(header.shape))))
    return flat.view(dtype).view(header.shape)
