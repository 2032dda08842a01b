"""The commit that is checked out in a folder, read from the files of its repository.

The program `git` is not called: the configuration of an untrusted repository can make every git command run a program.
"""

from __future__ import annotations

import re
from pathlib import Path

from ebmkit.storage.regular import open_regular

#: A commit in hexadecimal: SHA-1 or SHA-256.
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

#: A branch or another reference. Parts that begin with a dot are not allowed, so that it cannot lead elsewhere.
_REFERENCE = re.compile(r"ref: *(refs(?:/(?!\.)[^/\x00-\x20\\]+)+)")

#: Maximum number of bytes read of a file with one entry, and of the list of packed references.
_SHORT, _LIST = 4096, 1 << 24


def commit_of(folder: Path) -> str | None:
    """The hash of the commit that is checked out in the repository around `folder`; None if there is none.

    Branches, detached heads, packed references, worktrees and submodules are supported. Whether files have changed
    since the commit is not determined.
    """
    try:
        repository = _repository(folder)
        head = _line(repository / "HEAD") if repository else ""
        if repository is None or _HASH.fullmatch(head):
            return head or None
        reference = _REFERENCE.fullmatch(head)
        return _look_up(repository, reference[1]) if reference else None
    except (OSError, ValueError, RuntimeError):  # no repository that could be read
        return None


def _repository(folder: Path) -> Path | None:
    """The folder with `HEAD`. In worktrees and submodules, `.git` is a file that names it."""
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        found = parent / ".git"
        if found.is_file():
            return parent / _line(found).removeprefix("gitdir:").strip()
        if found.is_dir():
            return found
    return None


def _look_up(repository: Path, reference: str) -> str | None:
    """The commit of a branch: in a file of its own, or in the list of packed references."""
    shared = repository / _line(repository / "commondir") if (repository / "commondir").is_file() else repository
    for place in (repository, shared):
        if (place / reference).is_file():
            commit = _line(place / reference)
            return commit if _HASH.fullmatch(commit) else None
    with open_regular(shared / "packed-refs") as file:
        for line in file.read(_LIST).decode(errors="replace").splitlines():
            commit, _, name = line.partition(" ")
            if name == reference and _HASH.fullmatch(commit):
                return commit
    return None


def _line(path: Path) -> str:
    """The first line of a small file."""
    with open_regular(path) as file:
        return file.read(_SHORT).decode(errors="replace").partition("\n")[0].strip()
