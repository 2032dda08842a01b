"""The number of processes that a launcher such as torchrun started. A run takes one process."""

from __future__ import annotations

import os
from typing import NamedTuple

from ebmkit.errors.running import EnvironmentLacks


class World(NamedTuple):
    """The rank of this process, and the number of processes of its launcher."""

    rank: int
    size: int


def world() -> World:
    """As the environment says: torchrun and most other launchers set RANK and WORLD_SIZE."""
    return World(rank=_number("RANK", 0), size=_number("WORLD_SIZE", 1))


def require_one_process() -> None:
    """Raise if this is one of several processes: each would make the same run."""
    here = world()
    if here.size > 1 or here.rank > 0:
        raise EnvironmentLacks(
            f"this is one of several processes (RANK={here.rank}, WORLD_SIZE={here.size}), and each would make the "
            "same run: ebmkit cannot train on several devices at once yet",
            help="run 'ebmkit run' without torchrun; where other software sets RANK and WORLD_SIZE, unset them",
        )


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name, ""))
    except ValueError:  # not set, or set by something else for another purpose
        return default
