"""The contract of a tracker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from ebmkit.contracts.component import Component


class Log(Protocol):
    """An open tracker."""

    def write(self, step: int, values: dict[str, float]) -> None:
        """Record what was measured at a step."""

    def sync(self) -> None:
        """Make durable what was written: a checkpoint is about to count on it."""

    def close(self) -> None:
        """Flush; nothing is written afterwards."""


class Tracker(Component, ABC):
    """Where measurements go while a run is under way."""

    component_kind: ClassVar[str] = "tracker"

    @abstractmethod
    def open(self, folder: Path, records: Sequence[tuple[int, dict[str, float]]]) -> Log:
        """Begin to record into the run's folder.

        `records` is what was measured before, up to the checkpoint from which a run goes on; none for a new run. What
        was recorded beyond it is to be forgotten: those steps are made again.
        """
