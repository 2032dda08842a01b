"""The memory of this machine, and what this process may still use of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: The limit of the container that the process runs in (cgroup, version 2 and 1), and the file that says what is used.
#: Cached files do not count, since the system discards them when memory is needed.
_CONTAINERS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.stat", "anon"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.stat", "rss"),
)


def total_memory() -> int | None:
    """The bytes that a process may use: those of the machine, or fewer in a container. None if unknown."""
    return min((size for size in (_physical(), *(limit for limit, _ in _containers())) if size), default=None)


def available_memory() -> int:
    """Bytes that can be allocated without swapping, as far as the system says; the smallest of all limits."""
    return max(0, min(_limits(), default=1 << 62))


def _physical() -> int | None:
    """The bytes of the machine; None where the system does not say."""
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _containers() -> Iterator[tuple[int, int]]:
    """The limits of containers, and what is used of them."""
    for limit, statistics, key in _CONTAINERS:
        with suppress(OSError, ValueError):  # without a limit, the file says "max"
            found = int(Path(limit).read_text(encoding="ascii"))
            used = re.search(rf"^{key} (\d+)$", Path(statistics).read_text(encoding="ascii"), re.MULTILINE)
            yield found, int(used[1]) if used else 0


def _limits() -> Iterator[int]:
    with suppress(OSError):
        if found := re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii")):
            yield int(found[1]) * 1024
    if physical := _physical():  # systems without /proc
        yield physical
    for limit, used in _containers():
        yield limit - used
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
            yield soft - int(pages) * os.sysconf("SC_PAGE_SIZE")
