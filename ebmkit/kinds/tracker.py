"""The contract of a tracker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Protocol

from ebmkit.component import Component


class Log(Protocol):
    """An open tracker."""

    def write(self, step: int, values: dict[str, float]) -> None:
        """Record what was measured at a step."""

    def close(self) -> None:
        """Flush; nothing is written afterwards."""


class Tracker(Component, ABC):
    """Where measurements go while a run is under way."""

    component_kind: ClassVar[str] = "tracker"

    @abstractmethod
    def open(self, folder: Path) -> Log:
        """Begin to record into the run's folder."""
