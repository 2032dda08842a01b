"""One run among many, as its folder describes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from ebmkit.engine.folder.finding import find_runs
from ebmkit.engine.folder.parameters import read_parameters
from ebmkit.engine.folder.run_format import OtherFormat
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.run_lock import is_locked

#: The status of a run whose process ended without recording it.
KILLED = "killed"


class Entry:
    """A run: its folder, its status, and on demand the parameters of its spec."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            #: The content of `run.json`; of a folder that cannot be read, a status and an error.
            self.summary: dict[str, Any] = read_summary(folder)
        except StorageFailed as error:
            self.summary = _unreadable(error)
        if self.status == "running" and not is_locked(folder):
            self.summary["status"] = KILLED

    @property
    def status(self) -> str:
        """How the run ended, or `running`, `killed`, `damaged`, `old format`, `newer format`."""
        return str(self.summary["status"])

    @property
    def hash(self) -> str:
        """The hash of what it computes; empty if it cannot be read."""
        return str(self.summary.get("hash", ""))

    @property
    def results(self) -> dict[str, float]:
        """The results of its final evaluation."""
        return dict(self.summary["results"])

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The resolved spec, with the named parts in their places; empty if it cannot be read."""
        try:
            resolved = read_parameters(self.folder)
        except StorageFailed:
            return {}
        parts = resolved.pop("parts", None)
        whole: dict[str, Any] = _with_parts(resolved, parts if isinstance(parts, dict) else {})
        return whole

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"folder": str(self.folder), **self.summary}


def entries(runs_dir: Path) -> list[Entry]:
    """All runs below a folder, the newest last."""
    return sorted(map(Entry, find_runs(runs_dir)), key=lambda entry: (entry.summary["started"], entry.folder))


def of_hash(runs_dir: Path, wanted: str) -> Iterator[Entry]:
    """The runs that compute the same, the newest first. Their folders have the beginning of the hash in their names."""
    folders = [folder for folder in find_runs(runs_dir) if f"-{wanted[:8]}" in folder.name]
    for folder in sorted(folders, key=lambda folder: folder.name, reverse=True):
        if (entry := Entry(folder)).hash == wanted:
            yield entry


def _unreadable(error: StorageFailed) -> dict[str, Any]:
    status, why = "damaged", error.message
    if isinstance(error, OtherFormat):
        status, why = error.status, "made by another ebmkit: run its spec.yaml again"
    return {"status": status, "started": "", "error": why, "results": {}}


def _with_parts(value: Any, parts: dict[str, Any]) -> Any:
    """The value with `$name` replaced by the part of this name, which may contain others but not itself."""
    if isinstance(value, dict):
        return {key: _with_parts(of, parts) for key, of in value.items()}
    if isinstance(value, list):
        return [_with_parts(of, parts) for of in value]
    if isinstance(value, str) and value.startswith("$") and value[1:] in parts:
        name = value[1:]
        return _with_parts(parts[name], {other: of for other, of in parts.items() if other != name})
    return value
