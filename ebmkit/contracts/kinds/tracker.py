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
        """Record the values measured at a step."""

    def sync(self) -> None:
        """Make written values durable, before a checkpoint is saved."""

    def close(self) -> None:
        """Flush; nothing is written afterwards."""


class Tracker(Component, ABC):
    """A destination of measurements during a run."""

    component_kind: ClassVar[str] = "tracker"

    @abstractmethod
    def open(self, folder: Path, records: Sequence[tuple[int, dict[str, float]]]) -> Log:
        """Start recording in the folder of the run.

        `records` are the measurements up to the checkpoint from which a run is resumed; empty for a new run. Anything
        recorded after it must be discarded, since those steps are repeated.
        """
