"""Finding the runs below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def find_runs(folder: Path) -> Iterator[Path]:
    """All run folders below `folder`, itself included; a run contains no other runs, and links are not followed.

    Folders may be nested to any depth and may be unreadable, since they can come from others.
    """
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if os.path.lexists(path / "run.json"):
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                waiting += [path / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
