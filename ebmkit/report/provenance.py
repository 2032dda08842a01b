"""The provenance of a run as text, from `run.json` and `lock.yaml`. Both files are untrusted."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.text import parse


def provenance(summary: dict[str, Any], lock: str) -> dict[str, str]:
    """Facts by subject; unknown ones are left out."""
    locked, trouble = _locked(lock)
    packages, git = _mapping(locked.get("packages")), _mapping(locked.get("git"))
    known = {
        "started": moment(summary.get("started")),
        "took": duration_of(summary.get("seconds")),
        "seed": summary.get("seed"),
        "hash": summary.get("hash"),
        "extends": summary.get("extends"),
        "device": locked.get("device"),
        "threads": locked.get("threads"),
        "processor": locked.get("cpu"),
        "lock": trouble,
        "platform": locked.get("platform"),
        "python": locked.get("python"),
        **packages,
        "commit": f"{git.get('commit')}{' with changes' if git.get('changed') else ''}" if git else None,
        **{f"plugin {name}": _plugin(_mapping(plugin)) for name, plugin in _mapping(locked.get("plugins")).items()},
        **{f"data {name}": f"sha256 {digest}" for name, digest in _mapping(locked.get("data")).items()},
    }
    return {subject: str(words) for subject, words in known.items() if words is not None}


def commands(summary: dict[str, Any]) -> list[str]:
    """The command of the run, and one for every time it was resumed."""
    sessions = summary.get("sessions")
    typed = [_mapping(session).get("command") for session in sessions] if isinstance(sessions, list) else []
    typed = typed or [summary.get("command")]
    return [shlex.join(map(str, words)) for words in typed if isinstance(words, list)]


def moment(iso: Any) -> str | None:
    """2026-11-16 04:33 UTC."""
    try:
        return f"{datetime.fromisoformat(iso).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (TypeError, ValueError, OverflowError):
        return None if iso is None else str(iso)


def duration_of(seconds: Any) -> str | None:
    """12.1 s, 3 min 5 s, 2 h 3 min."""
    if not isinstance(seconds, int | float) or not 0 <= seconds < 1e9:
        return None if seconds is None else str(seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _locked(lock: str) -> tuple[dict[str, Any], str | None]:
    """The content of the lockfile, or the reason why it cannot be read. It is parsed with the limits of a spec."""
    try:
        return _mapping(parse(Source("lock.yaml", lock)).plain()), None
    except (EbmkitError, Mistakes) as error:
        return {}, f"cannot be read: {error}"


def _plugin(plugin: dict[str, Any]) -> str:
    words = [plugin.get("distribution"), plugin.get("version"), f"sha256 {plugin.get('sha256')}"]
    return " ".join(str(word) for word in words if word is not None)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
