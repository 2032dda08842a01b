"""Measurements as lines of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Log, TrackedRun, Tracker
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import storing, write_text
from ebmkit.storage.reading import read_whole


class JsonLines(Log):
    """An open `metrics.jsonl`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("a", encoding="utf-8", newline="\n", buffering=1)  # line-buffered: whole lines only

    def write(self, step: int, values: dict[str, float]) -> None:
        text = line(step, values)
        with storing(self._path, len(text)):
            self._file.write(text)

    def sync(self) -> None:
        with storing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def line(step: int, values: dict[str, float]) -> str:
    """A record as a line of JSON."""
    try:
        return json.dumps({"step": step, **values}, allow_nan=False) + "\n"
    except ValueError as error:
        wrong = [name for name, value in values.items() if value - value != 0]
        raise ValueError(f"step {step}: {', '.join(wrong)} is not finite and cannot be recorded") from error


def read_records(folder: Path) -> list[tuple[int, dict[str, float]]]:
    """The records in `metrics.jsonl` of a run folder; none if the run did not write it. Raises `StorageFailed`."""
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return []
    text = read_whole(path).decode(errors="replace")
    records = []
    try:
        for written in text.splitlines():
            values = json.loads(written)
            step = values.pop("step")
            if not isinstance(step, int) or not all(isinstance(value, int | float) for value in values.values()):
                raise ValueError("a value is not a number")
            records.append((step, values))
    except (ValueError, AttributeError, KeyError, RecursionError) as error:
        raise StorageFailed(f"{path}: line {len(records) + 1} is damaged: {error}") from error
    return records


@component("jsonl")
class Jsonl(Tracker):
    """JSON Lines tracker: appends every measurement to `metrics.jsonl` in the run folder, one object per line.

        {"step": 100, "loss": 0.6931471805599453}

    Floats are written in the shortest form that restores the same bits. A number that is not finite is refused.

    Reference: JSON Lines, https://jsonlines.org.

    Example: trackers: [jsonl]
    """

    def open(self, run: TrackedRun) -> JsonLines:
        path = run.folder / "metrics.jsonl"
        # Rewritten as a whole: a run that was killed may have left steps that are repeated, or an incomplete line.
        write_text(path, "".join(line(step, values) for step, values in run.records))
        return JsonLines(path)
