"""Measurements as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path

from ebmkit.component import component
from ebmkit.kinds import Tracker


class JsonLines:
    """An open `metrics.jsonl`."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", newline="\n", buffering=1)  # a line reaches the file as a whole

    def write(self, step: int, values: dict[str, float]) -> None:
        try:
            line = json.dumps({"step": step, **values}, allow_nan=False)
        except ValueError as error:
            wrong = [name for name, value in values.items() if value - value != 0]
            raise ValueError(f"step {step}: {', '.join(wrong)} is not finite and cannot be recorded") from error
        self._file.write(line + "\n")

    def close(self) -> None:
        self._file.close()


@component("jsonl")
class Jsonl(Tracker):
    """Append every measurement to `metrics.jsonl` in the run's folder, one JSON object a line.

        {"step": 100, "loss": 0.6931471805599453}

    Floats are written in the shortest form that reads back to the same bits. A number that is not finite is refused.

    Reference: JSON Lines, https://jsonlines.org.

    Example: trackers: [jsonl]
    """

    def open(self, folder: Path) -> JsonLines:
        return JsonLines(folder / "metrics.jsonl")
