"""The memory of this machine, as far as it can be known without torch."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

#: Present if a GPU can be used by torch: of NVIDIA, and of AMD.
_GPUS = (Path("/dev/nvidiactl"), Path("/dev/kfd"))
#: The limit of a container, in bytes or `max`.
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@cache
def memory() -> int | None:
    """The bytes that a process may use: those of the machine, or fewer in a container. None if unknown."""
    found = []
    with suppress(AttributeError, ValueError, OSError):  # unknown on this system
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in _LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(limit.read_text()))
    return min((size for size in found if size > 0), default=None)


@cache
def may_have_gpu() -> bool:
    """Whether `device: auto` may mean something else than the CPU."""
    return sys.platform == "darwin" or any(path.exists() for path in _GPUS)
