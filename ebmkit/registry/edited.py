"""Installed plugins that were edited since this process imported them, as in a notebook next to an editable install.

Without this a second run would use the old code, and its lock would have the hash of the new one.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class _Seen(NamedTuple):
    module: ModuleType
    sha256: str


#: The top-level packages of installed plugins as they were imported, by name.
_SEEN: dict[str, _Seen] = {}


def remember(name: str, sha256: str) -> None:
    """Note the files of a top-level package, which was just imported for a plugin, unless it was noted before."""
    module = sys.modules.get(name)
    if module is not None and (name not in _SEEN or _SEEN[name].module is not module):
        _SEEN[name] = _Seen(module, sha256)


def was_edited(name: str, sha256: str) -> bool:
    """Whether the files of an imported top-level package are others than when it was noted."""
    seen = _SEEN.get(name)
    return seen is not None and sys.modules.get(name) is seen.module and seen.sha256 != sha256


def discard_compiled(names: list[str]) -> None:
    """Delete compiled code of modules: Python compares times in seconds, so that it may be older than the source."""
    for name in names:
        compiled = getattr(sys.modules[name], "__cached__", None)
        if isinstance(compiled, str):
            Path(compiled).unlink(missing_ok=True)
    importlib.invalidate_caches()
