"""A file that says which process works on a folder, for file systems without locks (Lustre, some NFS).

Unlike a lock, it stays when the process is killed. It then counts as abandoned if the process ran on this machine;
whether a process on another machine is still alive cannot be determined.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from ebmkit.storage.regular import open_regular

FILE = ".owner"

#: Maximum number of bytes of the file that are read.
_MOST = 4096


class Owner(NamedTuple):
    """A process: its machine, its number, and when it started, since numbers are used again."""

    host: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Self:
        return cls(_host(), os.getpid(), _start_of(os.getpid()))

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """The owner of a folder; None if there is none."""
        try:
            return cls.named_in(folder / FILE)
        except FileNotFoundError:
            return None

    @classmethod
    def named_in(cls, path: Path) -> Self:
        """The owner that a file names. One that cannot be understood, or is not yet written, names no process."""
        try:
            with open_regular(path, follow=False) as file:
                content = json.loads(file.read(_MOST))
            return cls(str(content["host"]), int(content["pid"]), str(content["started"]))
        except FileNotFoundError:
            raise
        except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
            return cls("", 0, "")

    @property
    def alive(self) -> bool:
        """False if the process ran on this machine and has ended; otherwise it has to be assumed that it runs."""
        if self.host != _host():
            return True
        try:
            os.kill(self.pid, 0)  # sends no signal
        except (ProcessLookupError, OverflowError):
            return False
        except OSError:  # of another user
            return True
        return _start_of(self.pid) == self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host.partition('/')[0]}" if self.host else "an unknown process"


def take(folder: Path) -> Owner | None:
    """Make this process the owner of a folder. Returns the process that already is, or None if this one has become it.

    Abandoned files are replaced.
    """
    ours = Owner.this_process()
    for _ in range(3):
        try:
            _create(folder, json.dumps(ours._asdict()))
            return None
        except FileExistsError:
            owner = Owner.of(folder)
            if owner is None:  # given up in between
                continue
            if owner.alive:
                return owner
            _remove_abandoned(folder, owner)
    return Owner.of(folder) or Owner("", 0, "")


def give_up(folder: Path) -> None:
    """Remove the file if it names this process."""
    if Owner.of(folder) == Owner.this_process():
        (folder / FILE).unlink(missing_ok=True)


def _create(folder: Path, content: str) -> None:
    """Create the file, with its content, in one step; raises FileExistsError if there is one.

    The content is written to another file, which then gets the name as a second one. File systems without hard links
    have no such step: there a process that is killed in between leaves an empty file, which has to be deleted by hand.
    """
    temporary = folder / f"{FILE}.new.{os.getpid()}"  # `sweep` deletes it if this process is killed here
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(content)
        os.link(temporary, folder / FILE)
    except FileExistsError:
        raise
    except OSError:
        with (folder / FILE).open("x", encoding="utf-8") as file:
            file.write(content)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_abandoned(folder: Path, owner: Owner) -> None:
    """Remove the file of a process that has ended. Another process may do the same at this moment, so the file is
    renamed first, which only one of them can do, and put back if it is a new one."""
    aside = folder / f"{FILE}.{os.getpid()}"  # `sweep` deletes it if this process is killed here
    with suppress(FileNotFoundError):
        (folder / FILE).rename(aside)
        if Owner.named_in(aside) == owner:
            aside.unlink()
        else:
            aside.rename(folder / FILE)


def _host() -> str:
    """The name of this machine and, where known, the number of its last start: many machines share a name."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{platform.node()}/{boot.read_text().strip() if boot.is_file() else ''}"


def _start_of(pid: int) -> str:
    """When a process started, in ticks since the start of the machine; empty where this is unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
