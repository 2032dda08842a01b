"""`run.json`, the summary of a run, which is untrusted when it is read."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from ebmkit.engine.folder.run_format import refuse_other_format, summary_bytes
from ebmkit.errors.running import StorageFailed


@dataclass
class SessionRecord:
    """One session: a process that worked on a run."""

    started: str
    seconds: float = 0.0
    from_step: int = 0
    to_step: int = 0
    command: list[str] = field(default_factory=lambda: list(sys.argv))
    #: What was allowed to differ from the previous session.
    drift: list[str] = field(default_factory=list)


#: The keys that `run.json` always has, and their types.
KEYS = {
    "format": int,
    "name": str,
    "status": str,
    "hash": str,
    "step": int,
    "steps": int,
    "started": str,
    "seconds": float | int,
    "results": dict,
    "failed": list,
    "unmet": list,
    "warnings": list,
    "sessions": list,
}


def read_summary(folder: Path) -> dict[str, Any]:
    """The content of `run.json`. A folder without it is not a run, or the run had not started."""
    path = folder / "run.json"
    content = summary_bytes(folder)
    try:
        summary: dict[str, Any] = json.loads(content)
        refuse_other_format(folder, summary)
        summary.setdefault("failed", [])  # which the first runs of this format do not have
        wrong = [key for key, kind in KEYS.items() if not isinstance(summary.get(key), kind)]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: missing or of the wrong type")
        _check_values(summary)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise StorageFailed(f"{path}: damaged: {error}") from error
    return summary


def _check_values(summary: dict[str, Any]) -> None:
    """Raise a ValueError or TypeError if an entry has a wrong value, since others would compute with it."""
    datetime.fromisoformat(summary["started"]).astimezone(UTC)
    for name, value in {"seconds": summary["seconds"], **summary["results"]}.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValueError(f"{name}: not a finite number")
    if not all(isinstance(words, str) for words in [*summary["unmet"], *summary["warnings"]]):
        raise ValueError("unmet, warnings: not lists of sentences")
    if not all(isinstance(failure, dict) for failure in summary["failed"]):
        raise ValueError("failed: not a list of failures")
    if not isinstance(summary.get("verdict", {}), dict):
        raise ValueError("verdict: not a mapping")
    for session in summary["sessions"]:
        _check_session(SessionRecord(**session))


def _check_session(session: SessionRecord) -> None:
    numbers = (session.seconds, session.from_step, session.to_step)
    words = [session.started, *session.command, *session.drift]
    if not all(type(number) in (int, float) and isfinite(number) for number in numbers):
        raise ValueError("sessions: not finite numbers")
    if not all(isinstance(word, str) for word in words):
        raise ValueError("sessions: not texts")
