"""All open trackers of a run as one object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ebmkit.contracts.kinds.tracker import Log
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.errors.base import EbmkitError
from ebmkit.language.plan import Plan
from ebmkit.storage.atomic import storing


class Trackers:
    """Writes to all of them, and closes them in any case."""

    def __init__(self, plan: Plan, folder: Path, records: Sequence[tuple[int, dict[str, float]]]) -> None:
        self.folder = folder
        self._logs: list[tuple[ErrorSite, Log]] = []
        for index, tracker in enumerate(plan.spec.trackers):
            site = ErrorSite(plan, ("trackers", index))
            with site, storing(folder):
                log = tracker.open(folder, records)
            self._logs.append((site, log))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Record what was measured at a step."""
        for site, log in self._logs:
            with site, storing(self.folder, len(repr(values))):
                log.write(step, values)

    def sync(self) -> None:
        """Flush everything written to disk."""
        for site, log in self._logs:
            with site, storing(self.folder):
                log.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failures = []
        for site, log in self._logs:
            try:
                with site, storing(self.folder):
                    log.close()
            except EbmkitError as failure:
                failures.append(failure)
        if failures and error is None:  # otherwise they would hide the first error
            raise failures[0]
