"""What is known of the installed plugins, kept until any distribution is installed, upgraded or removed.

The name of the file is a digest of the metadata files of all distributions on the search path. So a plugin is looked
at again when a package on which it depends changes, and environments are not mixed up.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ebmkit.contracts.user_cache import user_cache
from ebmkit.contracts.version import __version__

#: Changes with the content of the files.
FORMAT = 1
#: Maximum number of files; the oldest are deleted.
MOST_FILES = 16
#: Maximum number of bytes of a file that is read.
MOST_BYTES = 64 << 20


def installed_set() -> str:
    """A digest of what is installed: it changes with any distribution, with Python, with ebmkit, and with the setting
    that turns plugins off."""
    digest = hashlib.sha256()
    disabled = os.environ.get("EBMKIT_DISABLE_PLUGINS", "")
    own = Path(__file__).parent
    code = [_stamp(str(file), "") for file in sorted(own.glob("*.py"))]
    digest.update(repr((FORMAT, __version__, code, sys.version, sys.executable, disabled)).encode())
    for folder in sys.path:
        digest.update(repr((folder or os.curdir, _distributions(folder or os.curdir))).encode(errors="surrogateescape"))
    return digest.hexdigest()


def _distributions(folder: str) -> list[Any]:
    """The metadata of the distributions in a folder: names, sizes and times of change."""
    try:
        with os.scandir(folder) as entries:
            found = [
                entry.path for entry in entries if entry.name.lower().endswith((".dist-info", ".egg-info", ".egg"))
            ]
    except NotADirectoryError:
        found = [folder]  # a zip file
    except OSError:
        return []
    return [[path, *(_stamp(path, name) for name in ("", "METADATA", "entry_points.txt"))] for path in sorted(found)]


def _stamp(path: str, name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(f"{path}{os.sep}{name}" if name else path)  # noqa: PTH116  # there are hundreds
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def kept_file() -> Path | None:
    """Where it is kept for the present installation; None for a process without a home."""
    folder = user_cache()
    return folder and folder / "plugins" / f"{installed_set()[:40]}.json"


def read_kept(file: Path | None) -> dict[str, Any]:
    """What was kept, by namespace; raises KeyError if nothing was, or nothing that can be read."""
    try:
        if file is None or file.stat().st_size > MOST_BYTES:
            raise KeyError("plugins")
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("plugins"), dict):
        raise KeyError("plugins")
    plugins: dict[str, Any] = content["plugins"]
    return plugins


def keep(file: Path | None, plugins: dict[str, Any]) -> None:
    """Write it; where that is impossible, the plugins are looked at again next time."""
    if file is None:
        return
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    with suppress(OSError, ValueError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps({"plugins": plugins}, allow_nan=False), encoding="utf-8")
        temporary.replace(file)
        _prune(file.parent)
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def _prune(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in files[MOST_FILES:]:
        old.unlink(missing_ok=True)
