"""The format of run folders, and the check that a folder has the one that is read here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import storing

#: Increased when run folders change so that earlier ones cannot be read. Format 1 had no number and the key "sittings".
FORMAT = 2


class OtherFormat(StorageFailed):
    """A run folder that is intact, but whose format is not read here."""

    def __init__(self, folder: Path, written: int) -> None:
        old = written < FORMAT
        super().__init__(
            f"{folder}: {'an earlier' if old else 'a later'} ebmkit made this run: its folder has format {written}, "
            f"but format {FORMAT} is expected",
            help=f"run its spec again with 'ebmkit run {folder / 'spec.yaml'}', or use the checkout of ebmkit that "
            "made the run",
        )
        self.status: Literal["old format", "newer format"] = "old format" if old else "newer format"


def check_format(folder: Path) -> None:
    """Raise `OtherFormat` if the run in `folder` has another format. To be called before anything else is read."""
    path = folder / "run.json"
    with storing(path):
        content = path.read_bytes()
    try:
        summary = json.loads(content)
    except (ValueError, RecursionError):
        return  # damaged: `read_summary` says how
    refuse_other_format(folder, summary)


def refuse_other_format(folder: Path, summary: Any) -> None:
    """The same for the content of `run.json`. A format that is missing or not a number is damage, not a format."""
    if isinstance(summary, dict):
        written = summary.get("format", 1 if "sittings" in summary else None)
        if isinstance(written, int) and written != FORMAT:
            raise OtherFormat(folder, written)
