"""How much larger than on disk a file may become when it is read: archives and sparse files take little space there."""

from __future__ import annotations

import errno
import os

#: This many bytes are always accepted, and this many times the bytes on disk. Mostly empty arrays are compressed to a
#: hundredth; a file that only repeats one byte reaches a thousandth, and a sparse file has no limit.
ALWAYS, RATIO = 64 << 20, 100


def check_expansion(size: int, stored: int, remedy: str) -> None:
    """Raise a ValueError if `size` bytes come from a file with `stored` bytes on disk and this is too much."""
    if size > (most := max(ALWAYS, RATIO * stored)):
        raise ValueError(
            f"expands from {stored:,} bytes on disk to {size:,}, but at most {most:,} are accepted ({RATIO} times as "
            f"many, or {ALWAYS:,}): {remedy}"
        )


def check_sparse(descriptor: int) -> None:
    """The same for an open file with holes, which are read as zeros."""
    status = os.fstat(descriptor)
    size, stored = status.st_size, 512 * getattr(status, "st_blocks", 0)
    if stored or (size > ALWAYS and _is_one_hole(descriptor)):
        check_expansion(size, min(size, stored), "a copy without holes takes its full size")


def _is_one_hole(descriptor: int) -> bool:
    """Whether a file has no data at all. Some file systems report zero blocks for every file, so those do not say."""
    if not hasattr(os, "SEEK_DATA"):
        return False
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)
    return False
