"""`resolved.json`: the resolved spec for programs. Reading it takes a hundredth of the time of `resolved.yaml`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.running import StorageFailed
from ebmkit.language.text import parse, read
from ebmkit.storage.atomic import write_json
from ebmkit.storage.reading import read_whole

FILE = "resolved.json"
#: Maximum number of bytes; a resolved spec has a few thousand.
MOST_BYTES = 1 << 22


def write_parameters(folder: Path, resolved: dict[str, Any]) -> None:
    """Write the resolved spec of a new run."""
    write_json(folder / FILE, resolved)


def read_parameters(folder: Path) -> dict[str, Any]:
    """The resolved spec of a run, which is untrusted; of an earlier run without this file, that of `resolved.yaml`."""
    path = folder / FILE
    try:
        if path.exists():
            content = json.loads(read_whole(path, MOST_BYTES))
        else:
            path = folder / "resolved.yaml"
            content = parse(read(str(path))).plain()
        if not isinstance(content, dict):
            raise ValueError("not a mapping")
    except (EbmkitError, Mistakes, ValueError, RecursionError) as error:
        raise StorageFailed(f"{path}: damaged: {error}") from error
    return content
