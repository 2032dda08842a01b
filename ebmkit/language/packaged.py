"""The specs that come with ebmkit, found by their bare names."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """Where they lie: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "specs"
    return inside if inside.is_dir() else package.parent / "specs"


def names() -> list[str]:
    """`quickstart`, `gallery/banana`, ..."""
    root = folder()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml"))


def find(name: str) -> Path | None:
    """The file of a packaged spec. Only listed names are found, so `../` leads nowhere."""
    return folder() / f"{name}.yaml" if name in names() else None
