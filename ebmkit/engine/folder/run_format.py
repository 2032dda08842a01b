"""The format of run folders, and the check that a folder has the one that is read here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.links import refuse_links_out
from ebmkit.storage.reading import read_whole

#: Increased when run folders change so that earlier ones cannot be read. Format 1 had no number and the key "sittings".
FORMAT = 2

#: Maximum number of bytes of `run.json`, which has a few thousand.
MOST_BYTES = 1 << 22


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


def check_folder(folder: Path) -> None:
    """Check the folder of a run, which is untrusted, before anything else in it is read or written.

    Raises `StorageFailed` if something in it leads to another place, and `OtherFormat` if it has another format.
    """
    refuse_links_out(folder)
    try:
        summary = json.loads(summary_bytes(folder))
    except (ValueError, RecursionError):
        return  # damaged: `read_summary` says how
    refuse_other_format(folder, summary)


def summary_bytes(folder: Path) -> bytes:
    """The bytes of `run.json`."""
    return read_whole(folder / "run.json", MOST_BYTES)


def refuse_other_format(folder: Path, summary: Any) -> None:
    """The same for the content of `run.json`. A format that is missing or not a number is damage, not a format."""
    if isinstance(summary, dict):
        written = summary.get("format", 1 if "sittings" in summary else None)
        if isinstance(written, int) and written != FORMAT:
            raise OtherFormat(folder, written)
