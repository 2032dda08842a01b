"""What a run leaves behind, to be held against what another one left."""

from __future__ import annotations

import json
from pathlib import Path

#: These tell of times, machines and processes.
TOLD = {"lock.yaml", "log.txt", "report.html", "run.json"}


def remains(run: Path) -> dict[str, bytes]:
    """Every file of a run by name. Of those that tell of times only what has to agree is kept."""
    files = {str(path.relative_to(run)): path for path in run.rglob("*") if path.is_file()}
    found = {name: b"" if name in TOLD else path.read_bytes() for name, path in files.items()}
    summary = json.loads((run / "run.json").read_text())
    agreed = ("status", "hash", "step", "results", "unmet", "warnings")
    return {**found, "run.json": json.dumps({key: summary[key] for key in agreed}).encode()}


def ends(run: Path) -> dict[str, bytes]:
    """The same, with the last checkpoint alone: a run that was interrupted also saved where that happened."""
    found = remains(run)
    last = max(name.split("/")[1] for name in found if name.startswith("checkpoints/step-"))
    return {name: found[name] for name in found if not name.startswith("checkpoints/") or f"/{last}/" in name}


def different(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The names of what differs, or is in one only."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
