"""Removing runs."""

from __future__ import annotations

import os
from pathlib import Path

from ebmkit.storage.atomic import remove_folder, storing
from ebmkit.storage.run_lock import RunLock
from ebmkit.store.entry import Entry


def size_of(folder: Path) -> int:
    """The number of bytes of all files in a folder. Links are not followed."""
    total, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:  # removed in the meantime, or unreadable
            continue
    return total


def remove(entry: Entry, runs_dir: Path) -> None:
    """Remove the folder of a run, and the folders that contained only this run. Refused while a process works on it."""
    lock = RunLock(entry.folder)
    try:
        remove_folder(entry.folder)
    finally:
        lock.release()
    for parent in entry.folder.parents:
        if parent == runs_dir or not parent.is_relative_to(runs_dir):
            break
        with storing(parent):
            if any(parent.iterdir()):
                break
            parent.rmdir()
