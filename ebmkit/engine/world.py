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
            f"ebmkit was started as process {here.rank} of {here.size} (RANK={here.rank}, WORLD_SIZE={here.size}), but "
            "distributed training is not supported yet: every process would repeat the same run",
            help="run 'ebmkit run' without torchrun; where other software sets RANK and WORLD_SIZE, unset them",
        )


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name, ""))
    except ValueError:  # not set, or set by something else for another purpose
        return default
