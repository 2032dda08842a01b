"""The specs that come with ebmkit, available by their bare names."""

from __future__ import annotations

import re
from pathlib import Path

#: Names that cannot refer to another folder: no part is empty or begins with a dot.
_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")


def folder() -> Path:
    """The folder of packaged specs: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "specs"
    return inside if inside.is_dir() else package.parent / "specs"


def names() -> list[str]:
    """`quickstart`, `gallery/banana`, ..."""
    root = folder()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml"))


def find(name: str) -> Path | None:
    """The file of a packaged spec. Only listed names are found, so `../` is never followed."""
    if not _NAME.fullmatch(name):
        return None
    path = folder() / f"{name}.yaml"
    try:
        return path if path.is_file() else None
    except OSError:  # a name that the system refuses, for example because it is too long
        return None
