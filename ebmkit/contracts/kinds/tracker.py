"""The contract of a tracker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ebmkit.contracts.component import Component


@dataclass(frozen=True, kw_only=True)
class TrackedRun:
    """What a tracker is given of a run that begins or is resumed."""

    #: The folder of the run, `runs/<name>/<time>-<hash>`, which exists.
    folder: Path
    name: str
    seed: int
    #: SHA-256 of the spec with every default, which identifies the experiment.
    hash: str
    #: The spec with every default, as plain data, and the same as YAML.
    spec: Mapping[str, Any]
    text: str
    #: The number of training steps that the spec asks for.
    steps: int = 0
    #: The step of the checkpoint from which a run is resumed; 0 for a new run. Later steps are repeated.
    step: int = 0
    #: What was measured until then, `(step, values)` in order; empty for a new run.
    records: Sequence[tuple[int, dict[str, float]]] = ()


class Log(ABC):
    """An open tracker. Only `write` is required."""

    @abstractmethod
    def write(self, step: int, values: dict[str, float]) -> None:
        """Record the values measured at a step."""

    def picture(self, step: int, name: str, png: bytes) -> None:
        """Record a picture: `samples` at each step at which the run keeps some, `summary` at the end.

        A picture of the same name and step replaces the earlier one. Pictures of samples are drawn during training only
        if an open tracker overrides this method.
        """
        return

    def finish(self, results: Mapping[str, float]) -> None:
        """Record the results of the final evaluation, after everything else. Not called for a run that fails or pauses.

        It is called again if a finished run is measured again.
        """
        return

    def sync(self) -> None:
        """Make what was recorded durable, before a checkpoint is saved."""
        return

    def close(self) -> None:
        """Release files and connections, however the run ended; nothing is recorded afterwards."""
        return


class Tracker(Component, ABC):
    """A destination of measurements, pictures and results of a run."""

    component_kind: ClassVar[str] = "tracker"
    #: Whether it records into files in or next to the folder of the run, and not over a network.
    local: ClassVar[bool] = True

    @abstractmethod
    def open(self, run: TrackedRun) -> Log:
        """Start recording. If the run is resumed, discard what was recorded after `run.records` and `run.step`."""
