"""Measurements as TensorBoard events."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Tracker
from ebmkit.storage.atomic import sync_folder


class Events:
    """An open event file. It replaces what earlier files contain for `from_step` and later steps."""

    def __init__(self, folder: Path, from_step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        self._writer = SummaryWriter(str(folder), purge_step=from_step)

    def write(self, step: int, values: dict[str, float]) -> None:
        wrong = [name for name, value in values.items() if not isfinite(value)]
        if wrong:
            raise ValueError(f"step {step}: {', '.join(wrong)} is not finite and cannot be recorded")
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def sync(self) -> None:
        self._writer.flush()  # passes the events to the system, which may still lose them
        for path in self._folder.glob("events.*"):
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(self._folder)

    def close(self) -> None:
        self._writer.close()


@component("tensorboard")
class TensorBoard(Tracker):
    """TensorBoard tracker: writes every measurement as a scalar into `tensorboard/` in the run folder.

        pip install 'ebmkit-core[tensorboard]';  tensorboard --logdir runs

    TensorBoard keeps single precision. Use `jsonl` too: the report reads `metrics.jsonl`.

    Reference: https://www.tensorflow.org/tensorboard.

    Example: trackers: [jsonl, tensorboard]
    """

    needs_packages: ClassVar[Mapping[str, str]] = {"tensorboard": "ebmkit-core[tensorboard]"}

    def open(self, folder: Path, records: Sequence[tuple[int, dict[str, float]]]) -> Events:
        last = records[-1][0] if records else 0
        events = Events(folder / "tensorboard", last)
        # Only the last step can be incomplete: it is written again, and all earlier ones keep their times.
        for step, values in records:
            if step == last:
                events.write(step, values)
        return events
