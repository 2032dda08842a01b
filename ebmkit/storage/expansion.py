"""How much larger than on disk a file may become when it is read: archives and sparse files take little space there."""

from __future__ import annotations

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


def check_sparse(status: os.stat_result) -> None:
    """The same for a file with holes, which are read as zeros. Some file systems do not say what a file takes."""
    if blocks := getattr(status, "st_blocks", 0):
        check_expansion(status.st_size, min(status.st_size, blocks * 512), "a copy without holes takes its full size")
