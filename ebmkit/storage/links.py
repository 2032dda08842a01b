"""The check of an untrusted folder: nothing in it leads out of it, and nothing in it waits for another program."""

from __future__ import annotations

import os
from pathlib import Path

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import storing
from ebmkit.storage.regular import kind_of_file

#: Maximum number of files and folders; a run has tens of them.
MOST = 100_000


def refuse_links_out(folder: Path) -> None:
    """Raise `StorageFailed` if the folder contains a link that leads out of it, a pipe, a socket or a device.

    What is written to a file of the folder, or read from it, would go to another place, or wait forever. Links within
    the folder are harmless, and the folder itself may be reached through a link, since the user named it.
    """
    with storing(folder):
        try:
            root = folder.resolve()
        except (ValueError, RuntimeError) as error:  # a name that no file can have, or a link to itself
            raise StorageFailed(f"{folder}: {error}") from error
        waiting = [str(root)]
        count = 0
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        _check(entry, root)
            if count > MOST:
                raise StorageFailed(f"{folder}: contains more than {MOST:,} files, which is not the folder of a run")


def _check(entry: os.DirEntry[str], root: Path) -> None:
    if entry.is_symlink():
        target = Path(os.path.realpath(entry.path))
        if not target.is_relative_to(root):
            raise StorageFailed(
                f"{entry.path}: a link to {target}, which is not in the folder of the run",
                help="replace the link by what it leads to; the whole run folder may be a link",
            )
    elif kind := kind_of_file(entry.stat(follow_symlinks=False).st_mode):
        raise StorageFailed(f"{entry.path}: {kind}, but the folder of a run contains only files and folders")
